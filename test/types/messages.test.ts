import { beforeAll, describe, expect, test } from "vitest";
import { Application, newest } from "./compilers.js";

const HEAD = `
import { callback, isFault, match, onFailed, retryOn, settings, Task, use, configure, type SuccessOutcome } from "taskwright";
import { z } from "zod";

const contract = {
  input: z.object({ orderId: z.string(), amount: z.number() }),
  output: z.object({ chargeId: z.string(), lines: z.array(z.object({ sku: z.string() })) }),
};
class Charge extends Task.with(contract) {
  async work() {
    return { chargeId: this.input.orderId, lines: [] };
  }
}
class Ping extends Task.with() {
  work() {
    return { pong: true };
  }
}
export const used = [callback, isFault, match, onFailed, retryOn, settings, use, configure, Charge, Ping] satisfies unknown[];
export type Used = SuccessOutcome;
`;

/** What people write by mistake, and the words that the compiler must have for it. */
const mistakes: readonly (readonly [mistake: string, code: string, ...says: readonly string[]])[] = [
  [
    "a return of the wrong type",
    "class X extends Task.with(contract) { work() { return { chargeId: 1, lines: [] }; } }",
    "Property 'work' in type 'X'",
    "Types of property 'chargeId' are incompatible.",
    "Type 'number' is not assignable to type 'string'.",
  ],
  [
    "a return with a misspelt field deep down",
    'class X extends Task.with(contract) { async work() { return { chargeId: "c1", lines: [{ skuu: "" }] }; } }',
    "Types of property 'lines' are incompatible.",
    "Property 'sku' is missing in type '{ skuu: string; }'",
  ],
  ["no work", "class X extends Task.with(contract) {}", "Non-abstract class 'X' does not implement inherited abstract member work"],
  [
    "a misspelt field in work",
    "class X extends Charge { peek() { return this.input.amont; } }",
    "Property 'amont' does not exist",
    "Did you mean 'amount'?",
  ],
  [
    "a change of the input",
    "class X extends Charge { set() { this.input.amount = 1; } }",
    "Cannot assign to 'amount' because it is a read-only property.",
  ],
  [
    "an early success of the wrong shape",
    "class X extends Charge { now() { this.success({ chargeId: 1, lines: [] }); } }",
    "Type 'number' is not assignable to type 'string'.",
  ],
  ["a missing field at the call", 'Charge.execute({ orderId: "" })', "Property 'amount' is missing in type '{ orderId: string; }'"],
  ["a wrong type at the call", 'Charge.execute({ orderId: "", amount: "1" })', "Type 'string' is not assignable to type 'number'."],
  [
    "a misspelt field at the call",
    'Charge.execute({ orderId: "", amont: 1 })',
    "'amont' does not exist in type '{ orderId: string; amount: number; }'",
    "Did you mean to write 'amount'?",
  ],
  ["no input", "Charge.execute()", "Expected 1-2 arguments, but got 0."],
  [
    "a misspelt option of the call",
    "Ping.execute({}, { sginal: undefined })",
    "'sginal' does not exist in type 'ExecuteOptions'. Did you mean to write 'signal'?",
  ],
  [
    "a run of the base class",
    "Task.execute()",
    "not assignable to method's 'this' of type 'TaskClass'",
    "Cannot assign an abstract constructor type to a non-abstract constructor type.",
  ],
  [
    "a scalar for an input",
    "Task.with({ input: z.string() })",
    "Type 'ZodString' is not assignable to type 'Schema<unknown, object>'",
    "Type 'string' is not assignable to type 'object'.",
  ],
  [
    "a misspelt part of the contract",
    "Task.with({ inptu: contract.input })",
    "'inptu' does not exist in type 'Contract<undefined, undefined>'. Did you mean to write 'input'?",
  ],
  ["a match without a handler", "match(await Ping.execute(), { success: () => 1, skipped: () => 2 })", "Property 'failed' is missing"],
  [
    "an unknown callback",
    'callback("on_fail", () => 1)',
    `Argument of type '"on_fail"' is not assignable to parameter of type 'keyof CallbackArguments'.`,
  ],
  [
    "a callback that takes the wrong outcome",
    "class X extends Charge { @onFailed() note(outcome: SuccessOutcome) { return outcome; } }",
    "Property 'output' is missing in type 'FailedOutcome' but required in type 'SuccessOutcome'.",
  ],
  [
    "a decorator for another task",
    "@use<Charge>((_task, next) => next()) class X extends Ping {}",
    "not assignable to parameter of type 'abstract new (...args: never[]) => Charge'",
    "Type 'X' is not assignable to type 'Charge'",
  ],
  ["a misspelt setting", "settings({ tag: [] })", "'tag' does not exist in type 'Settings'. Did you mean to write 'tags'?"],
  [
    "a misspelt option of the configuration",
    "configure((config) => { config.loger = console; })",
    "Property 'loger' does not exist on type 'Configuration'. Did you mean 'logger'?",
  ],
  [
    "an unknown event",
    'Ping.telemetry.subscribe("task_done", () => 1)',
    `Argument of type '"task_done"' is not assignable to parameter of type 'keyof EventPayloads'.`,
  ],
];

describe(`${newest.name} explains`, () => {
  let complaints: ReadonlyMap<string, string>;
  beforeAll(async () => {
    const application = new Application("messages").install();
    mistakes.forEach(([, code], n) => application.write(`mistake${n}.ts`, `${HEAD}${code}\n`));
    const { output } = await application.check(newest);
    complaints = new Map(output.split(/^(?=mistake)/m).map((complaint) => [complaint.slice(0, complaint.indexOf("(")), complaint]));
  }, 180_000);

  test.each(mistakes.map(([mistake, , ...says], n) => ({ mistake, n, says })))("$mistake", ({ n, says }) => {
    const complaint = complaints.get(`mistake${n}.ts`) ?? "";
    for (const words of says) expect(complaint).toContain(words);
    expect(complaint.split("\n").length).toBeLessThan(14);
  });
});
