/** Inside a task: the input, what `work` may return, the halts, and what can be read of the run. */
import { Task, type FailOptions, type Logger, type TaskContext } from "taskwright";
import { z } from "zod";
import type { Equal, Expect } from "./exact.js";
import { ChargeCard, Ping } from "./tasks.js";

// Reading and writing.
export class Misread extends ChargeCard {
  override async work() {
    // @ts-expect-error: a misspelt field of the input
    void this.input.orderID;
    // @ts-expect-error: the parsed amount is a number, whatever callers may give
    this.audit(this.input.amount);
    // @ts-expect-error: an optional field may be missing
    this.audit(this.input.note);
    // @ts-expect-error: the parsed input is for reading
    this.input.amount = 1;
    // @ts-expect-error: a field that the input does not have
    this.input.paid = true;
    // @ts-expect-error: the input itself stays what it is
    this.input = { orderId: "o2", amount: 1, currency: "USD" };
    // @ts-expect-error: fields are on the input, not on the task
    void this.orderId;
    // @ts-expect-error: the attempt is counted by the run
    this.attempt = 2;
    // @ts-expect-error: the id is given by the run
    this.runId = "r1";
    // @ts-expect-error: the signal is the run's
    this.signal = AbortSignal.timeout(1);
    // @ts-expect-error: the context is a bag to fill, not to replace
    this.context = {};
    // @ts-expect-error: the bag's entries are unknown until they are declared or checked
    this.audit(this.context["requestId"]);
    return super.work();
  }
}

// What `work` returns is held against the input side of the output schema.
const contract = { output: z.object({ chargeId: z.string(), lines: z.array(z.object({ sku: z.string() })) }) };
export class WrongType extends Task.with(contract) {
  // @ts-expect-error: a field of the wrong type
  work() {
    return { chargeId: 1, lines: [] };
  }
}
export class MissingField extends Task.with(contract) {
  // @ts-expect-error: a field is missing
  async work() {
    return { chargeId: "c1" };
  }
}
export class WrongNested extends Task.with(contract) {
  // @ts-expect-error: a misspelt field deep down
  async work() {
    return { chargeId: "c1", lines: [{ skuu: "s1" }] };
  }
}
export class ReturnsNothing extends Task.with(contract) {
  // @ts-expect-error: the return is forgotten
  async work() {
    this.logger.info({}, "charged");
  }
}
export class ForgetsOneBranch extends Task.with(contract) {
  // @ts-expect-error: the return is forgotten in one branch
  async work() {
    if (this.attempt > 1) return { chargeId: "c1", lines: [] };
    return undefined;
  }
}
export class ReturnsText extends Task.with(contract) {
  // @ts-expect-error: the bare value instead of the named one
  async work() {
    return "c1";
  }
}
export class ReturnsResult extends Task.with(contract) {
  // @ts-expect-error: another task's result instead of its output
  async work() {
    return Ping.execute();
  }
}
export class ReturnsParsed extends Task.with({ output: z.object({ day: z.string().transform((text) => new Date(text)) }) }) {
  // @ts-expect-error: `work` returns what the schema takes, not what comes out of it
  work() {
    return { day: new Date(0) };
  }
}
export class WantsArgument extends Task.with(contract) {
  // @ts-expect-error: the input comes as this.input, not as an argument
  work(input: { chargeId: string }) {
    return { ...input, lines: [] };
  }
}
export class OverridesWrongly extends ChargeCard {
  // @ts-expect-error: a subclass is held to its parent's output
  override async work() {
    return { chargeId: 7, at: "2026-01-01" };
  }
}
export class WorkIsProperty extends Task.with(contract) {
  // @ts-expect-error: `work` is a method, not a value
  work = { chargeId: "c1", lines: [] };
}
// @ts-expect-error: `work` is missing
export class NoWork extends Task.with(contract) {}
// @ts-expect-error: `work` is misspelt
export class Perform extends Task.with(contract) {
  perform() {
    return { chargeId: "c1", lines: [] };
  }
}

// The halts end the run, and the compiler knows.
export class Halts extends Task.with(contract) {
  work() {
    const found = ["c1"].at(0);
    if (found === undefined) this.fail("not found", { code: "missing" }, { cause: new Error("x"), retryable: false });
    if (found === "") this.skip();
    if (this.attempt > 3) this.success({ chargeId: found, lines: [] }, { early: true });
    return { chargeId: found.trim(), lines: [] };
  }
}
export class WrongHalts extends Task.with(contract) {
  work() {
    // @ts-expect-error: an output of the wrong shape
    if (this.attempt > 1) this.success({ chargeId: 1, lines: [] });
    // @ts-expect-error: no output where the schema wants one
    if (this.attempt > 2) this.success();
    // @ts-expect-error: metadata in the place of the output
    if (this.attempt > 3) this.success(undefined, { early: true });
    // @ts-expect-error: metadata that is no object
    if (this.attempt > 4) this.success({ chargeId: "c1", lines: [] }, "early");
    // @ts-expect-error: the error in the place of the reason
    if (this.attempt > 5) this.fail(new Error("declined"));
    // @ts-expect-error: metadata that is no object
    if (this.attempt > 6) this.fail("declined", "card_declined");
    // @ts-expect-error: a misspelt option
    if (this.attempt > 7) this.fail("declined", {}, { retriable: false });
    // @ts-expect-error: a reason that is no text
    if (this.attempt > 8) this.skip(404);
    // @ts-expect-error: metadata that is no object
    if (this.attempt > 9) this.skip("done before", "yesterday");
    return { chargeId: "c1", lines: [] };
  }
}

// What a run shows of itself.
export type Members = [
  Expect<Equal<ChargeCard["runId"], string>>,
  Expect<Equal<ChargeCard["attempt"], number>>,
  Expect<Equal<ChargeCard["signal"], AbortSignal>>,
  Expect<Equal<ChargeCard["context"], TaskContext>>,
  Expect<Equal<ChargeCard["metadata"], Record<string, unknown>>>,
  Expect<Equal<ChargeCard["logger"], Logger>>,
  Expect<Equal<Parameters<Ping["success"]>, [output?: unknown, metadata?: object]>>,
  Expect<Equal<Parameters<ChargeCard["success"]>, [output: { chargeId: string; at: unknown }, metadata?: object]>>,
  Expect<
    Equal<Parameters<ChargeCard["fail"]>, [reason?: string | undefined, metadata?: object | undefined, options?: FailOptions | undefined]>
  >,
  Expect<Equal<ReturnType<ChargeCard["skip"]>, never>>,
];
