import { createHash } from "node:crypto";
import { keyOf, type Keyed } from "../claims/keyed.js";
import { DefinitionError } from "../errors.js";
import { andThen, isThenable, type Awaitable } from "../support/and-then.js";
import { canonical } from "../support/canonical.js";
import type { Run } from "../task/run.js";
import type { Idempotency } from "./options.js";

/** Which slot a run belongs to. Found once, after the input is parsed, and kept. */
export interface Identity {
  readonly key: string;
  readonly fingerprint: string | undefined;
}
export type Identified = Identity | Exclude<Keyed, { readonly key: string }>;

/** The key, then the fingerprint. Throws what people's functions throw. */
export function identify(run: Run, options: Idempotency, taskName: string): Awaitable<Identified> {
  return andThen(keyOf(run, options, taskName, run.options.idempotencyKey), (keyed) =>
    "key" in keyed ? { key: keyed.key, fingerprint: fingerprintOf(run, options) } : keyed,
  );
}

/** 128 bits of SHA-256 over the canonical text of what is to be compared. */
function fingerprintOf(run: Run, { fingerprint }: Idempotency): string | undefined {
  if (fingerprint === false) return undefined;
  const compared: unknown = fingerprint === true ? run.input?.parsed : Reflect.apply(fingerprint, run.task, [run.task]);
  if (isThenable(compared)) {
    void Promise.resolve(compared).then(undefined, () => undefined); // its answer comes too late to be of use, also as a rejection
    throw new DefinitionError("@idempotentBy(): fingerprint answered with a promise. It picks what to compare at once; await beforehand.");
  }
  return createHash("sha256").update(canonical(compared)).digest("hex").slice(0, 32);
}
