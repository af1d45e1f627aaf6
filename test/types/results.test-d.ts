/** What callers can and cannot do with a result before they know what it is. */
import {
  chainTree,
  Fault,
  isFault,
  match,
  Task,
  type Failed,
  type Issue,
  type Result,
  type ResultJson,
  type RunRef,
  type Skipped,
  type Success,
} from "taskwright";
import type { Equal, Expect } from "./exact.js";
import { ChargeCard, Ping } from "./tasks.js";

interface ChargeOutput {
  chargeId: string;
  at: Date;
}
declare const result: Result<ChargeOutput>;
const bang = await ChargeCard.executeBang({ orderId: "o1", amount: 1 });

// Narrowing.
if (result.status === "success") {
  const { output, replayed } = result;
  type _Success = [Expect<Equal<typeof output, ChargeOutput>>, Expect<Equal<typeof replayed, boolean>>];
} else if (result.status === "failed") {
  const { error, issues, retryable, reason, origin } = result;
  type _Failed = [
    Expect<Equal<typeof error, Error>>,
    Expect<Equal<typeof issues, readonly Issue[]>>,
    Expect<Equal<typeof retryable, boolean>>,
    Expect<Equal<typeof reason, string>>,
    Expect<Equal<typeof origin, RunRef>>,
  ];
} else {
  type _Skipped = Expect<Equal<typeof result, Skipped>>;
}
if (!result.ko) result.output.chargeId.trim();
if (!result.ok) result.error.message.trim();
if (result.state === "complete") result.output.at.getTime();
if (bang.status === "success") bang.output.chargeId.trim();
export type Narrowed = [
  Expect<Equal<Extract<typeof bang, { ok: false }>, never>>,
  Expect<Equal<Extract<Result<ChargeOutput>, { ok: true; ko: true }>, Skipped>>,
  Expect<Equal<Result["status"], "success" | "skipped" | "failed">>,
];
// @ts-expect-error: the output is read before the status is known
void result.output;
// @ts-expect-error: "not failed" may still be a skip, which has no output
if (result.ok) void result.output;
// @ts-expect-error: the error is read before the status is known
void result.error;
// @ts-expect-error: a skip carries no error
if (result.status === "skipped") void result.error;
// @ts-expect-error: a status that does not exist
if (result.status === "failure") void 0;
// @ts-expect-error: a state that does not exist
if (result.state === "completed") void 0;
// @ts-expect-error: a field of the output that does not exist
if (result.status === "success") void result.output.charge;
// @ts-expect-error: after executeBang it may still be a skip
void bang.output;
// @ts-expect-error: executeBang has thrown by then
if (bang.status === "failed") void 0;
// @ts-expect-error: a result is not its output
void bang.chargeId;
// @ts-expect-error: a result is for reading
if (result.status === "success") result.output = { chargeId: "c2", at: new Date(0) };
// @ts-expect-error: the metadata too is for reading
result.metadata["code"] = "mine";
// @ts-expect-error: the tags too are for reading
void result.tags.push;
// @ts-expect-error: a reason may be missing unless the run failed
result.reason.trim();
// @ts-expect-error: the promise is not awaited
void ChargeCard.execute({ orderId: "o1", amount: 1 }).status;

// match
export const matched = match(result, {
  success: ({ output }) => output.at,
  skipped: ({ reason }) => reason ?? 0,
  failed: ({ error }) => error,
});
export type Matched = Expect<Equal<typeof matched, Date | string | 0 | Error>>;
// @ts-expect-error: the handler of failures is missing
match(result, { success: () => 1, skipped: () => 2 });
// @ts-expect-error: a misspelt handler
match(result, { success: () => 1, skiped: () => 2, failed: () => 3 });
// @ts-expect-error: a handler too many
match(result, { success: () => 1, skipped: () => 2, failed: () => 3, otherwise: () => 4 });
// @ts-expect-error: a failure has no output
match(result, { success: () => 1, skipped: () => 2, failed: ({ output }) => output as unknown });
// @ts-expect-error: a value in the place of a handler
match(result, { success: 1, skipped: () => 2, failed: () => 3 });
// @ts-expect-error: the promise in the place of the result
match(Ping.execute(), { success: () => 1, skipped: () => 2, failed: () => 3 });

// Faults
declare const thrown: unknown;
if (isFault(thrown, ChargeCard)) {
  const { result: failed, code, cause } = thrown;
  type _Fault = [Expect<Equal<typeof failed, Failed>>, Expect<Equal<typeof code, string>>, Expect<Equal<typeof cause, unknown>>];
}
if (isFault(thrown)) thrown.result.issues.map(({ path, message }) => `${path.join(".")} ${message}`);
// @ts-expect-error: a class that is no task
isFault(thrown, TypeError);
// @ts-expect-error: the task's name in the place of its class
isFault(thrown, "ChargeCard");
// @ts-expect-error: an instance in the place of its class
isFault(thrown, new ChargeCard());
// @ts-expect-error: a fault carries the whole result, not the output
if (isFault(thrown)) void thrown.output;
// @ts-expect-error: what was thrown is unknown until it is asked
void thrown.result;
export const fault: Error = new Fault(result as Failed, ChargeCard);

// propagate
export class Outer extends Task.with() {
  async work() {
    const inner = await ChargeCard.execute({ orderId: "o1", amount: 1 });
    // @ts-expect-error: the inner run may have failed
    void inner.output;
    this.propagate(inner);
    type _Propagated = Expect<Equal<typeof inner, Success<ChargeOutput> | Skipped>>;
    // @ts-expect-error: what has not failed may still be a skip
    void inner.output;
    // @ts-expect-error: an error in the place of the result
    this.propagate(new Error("inner"));
    // @ts-expect-error: the promise in the place of the result
    this.propagate(Ping.execute());
    return { charge: inner.status === "success" ? inner.output.chargeId : inner.reason };
  }
}

// Elsewhere
export const json = result.toJSON({ output: true, context: true, stack: true });
export type Json = Expect<Equal<typeof json, ResultJson>>;
// @ts-expect-error: a misspelt part
result.toJSON({ outputs: true });
// @ts-expect-error: a promise among the results
chainTree([Ping.execute()]);
// @ts-expect-error: results one by one instead of a list
chainTree(result, result);
