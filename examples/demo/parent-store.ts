import type { EntriesOptions, EntryPage, SetOptions, SetResult, Store, StoreEntry } from "taskwright";
import type { CardProvider } from "./charge-customer.js";

/** What a worker asks of the process that started it. The demo has no rate limits, so nothing is counted. */
export type Services = Omit<Store, "count"> & CardProvider;

export interface Question {
  readonly id: number;
  readonly method: keyof Services;
  readonly args: readonly unknown[];
}
export type Answer = { readonly id: number } & ({ readonly value: unknown } | { readonly error: string });

const waiting = new Map<number, (answer: Answer) => void>();
let questions = 0;

/** One message asks, another answers. */
export function ask<Method extends keyof Services>(
  method: Method,
  ...args: Parameters<Services[Method]>
): Promise<Awaited<ReturnType<Services[Method]>>> {
  const id = (questions += 1);
  return new Promise((resolve, reject) => {
    waiting.set(id, (answer) => {
      if ("error" in answer) reject(new Error(answer.error));
      else resolve(answer.value as Awaited<ReturnType<Services[Method]>>); // what the parent's method of that name gave
    });
    process.send?.({ id, method, args } satisfies Question);
  });
}

export function hear(answer: Answer): void {
  waiting.get(answer.id)?.(answer);
  waiting.delete(answer.id);
}

/** A store is five methods. Here each of them asks the parent, which keeps the entries. */
export class ParentStore implements Store {
  get(key: string): Promise<StoreEntry | undefined> {
    return ask("get", key);
  }
  set(key: string, value: string, options: SetOptions): Promise<SetResult> {
    return ask("set", key, value, options);
  }
  delete(key: string, options?: { readonly owner?: string }): Promise<boolean> {
    return ask("delete", key, options);
  }
  renew(key: string, options: { readonly owner: string; readonly ttlMs: number }): Promise<boolean> {
    return ask("renew", key, options);
  }
  entries(options: EntriesOptions): Promise<EntryPage> {
    return ask("entries", options);
  }
}
