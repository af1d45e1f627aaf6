import type { Answer, Call } from "./calls.js";
import { STORE_TIMEOUT_MS } from "./scenario.js";

interface Claim {
  readonly call: Call;
  readonly heard?: { readonly what: "granted" | "refused" | "failed"; readonly at: number; readonly by: string | undefined };
}

export interface Refusal {
  /** Who holds the key. */
  readonly by: string | undefined;
  /** Was that heard within the time limit? Later, it may count or not. */
  readonly inTime: boolean;
}

/** What a run has heard of the claims that it has sent: nothing else can tell it what it holds. */
export class Asked {
  #claims: readonly Claim[] = [];

  sent(call: Call): void {
    this.#claims = [...this.#claims, { call }];
  }

  heard(call: Call, answer: Answer, at: number): void {
    const heard = { what: meaning(answer), at, by: holderIn(answer) };
    this.#claims = this.#claims.map((claim) => (claim.call === call ? { call, heard } : claim));
  }

  /** Has the store failed it twice in a row: with an error, or with an answer that was not there in time? */
  hasFailed(key: string, now: number): boolean {
    const last = this.#of(key).slice(-2);
    return last.length === 2 && last.every((claim) => isFailure(claim, now));
  }

  /** What it was told last: that another holds the key. */
  refusal(key: string): Refusal | undefined {
    const { call, heard } = this.#of(key).at(-1) ?? {};
    if (call === undefined || heard?.what !== "refused") return undefined;
    return { by: heard.by, inTime: heard.at - call.sentAt < STORE_TIMEOUT_MS };
  }

  #of(key: string): readonly Claim[] {
    return this.#claims.filter(({ call }) => call.key === key);
  }
}

function isFailure({ call, heard }: Claim, now: number): boolean {
  return heard?.what === "failed" || (heard?.at ?? now) - call.sentAt >= STORE_TIMEOUT_MS;
}

function meaning(answer: Answer): "granted" | "refused" | "failed" {
  if (!("value" in answer)) return "failed";
  return isGrant(answer.value) ? "granted" : "refused";
}

/** Did the store do as it was told? */
export function isGrant(value: unknown): boolean {
  return value === true || (typeof value === "object" && value !== null && "ok" in value && value.ok === true);
}

function holderIn(answer: Answer): string | undefined {
  const value = "value" in answer ? answer.value : undefined;
  const held: unknown = typeof value === "object" && value !== null && "held" in value ? value.held : undefined;
  const owner: unknown = typeof held === "object" && held !== null && "owner" in held ? held.owner : undefined;
  return typeof owner === "string" ? owner : undefined;
}
