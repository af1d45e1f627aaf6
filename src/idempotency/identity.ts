import { createHash } from "node:crypto";
import { DefinitionError, MissingKeyError } from "../errors.js";
import { segmentText, StoreKey } from "../claims/key.js";
import { resolveSegment } from "../claims/resolver.js";
import { isThenable } from "../support/and-then.js";
import { canonical } from "../support/canonical.js";
import { passes } from "../task/gates.js";
import type { FailedOutcome } from "../task/outcome.js";
import type { Run } from "../task/run.js";
import type { Idempotency } from "./options.js";

/** Which slot a run belongs to. Found once, after the input is parsed, and kept. */
export interface Identity {
  readonly key: string;
  readonly fingerprint: string | undefined;
}
export type Identified = Identity | { readonly bypass: "gate" | "missing_key" } | { readonly refused: FailedOutcome };

/** Gates, then the resolver, then key and fingerprint. Throws what people's functions throw. */
export async function identify(run: Run, options: Idempotency, taskName: string): Promise<Identified> {
  if (!passes(options, run.task)) return { bypass: "gate" };
  const segment = await segmentOf(run, options);
  if (segment === undefined) return options.onMissingKey === "fail" ? { refused: missingKey(run) } : { bypass: "missing_key" };
  return { key: StoreKey.compose(options.namespace, taskName, segment), fingerprint: fingerprintOf(run, options) };
}

/** A key that the caller brings replaces what the resolver would give. */
function segmentOf(run: Run, { resolver }: Idempotency): string | undefined | Promise<string | undefined> {
  const { idempotencyKey } = run.options;
  if (idempotencyKey !== undefined) return segmentText(idempotencyKey);
  return resolver === undefined ? undefined : resolveSegment(resolver, run);
}

function missingKey(run: Run): FailedOutcome {
  const error = new MissingKeyError(
    `${run.plan.name} must have an idempotency key, and its resolver gave none. Give the fields that make it, or idempotencyKey with the call.`,
  );
  return { status: "failed", by: "refused", error, reason: error.message, retryable: false, metadata: { code: "missing_key" } };
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
