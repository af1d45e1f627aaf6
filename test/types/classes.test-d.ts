/** `Task.with` and the classes made of it. */
import { Task, type TaskClass, type TaskSchema, type Telemetry } from "taskwright";
import * as v from "valibot";
import { z } from "zod";
import type { Equal, Expect } from "./exact.js";
import { ApplicationTask, ChargeCard, Ping } from "./tasks.js";

// The contract.
export const contracts = [Task.with(), Task.with({}), Task.with({ name: "Ping" }), Task.with({ input: z.looseObject({}) })];
// @ts-expect-error: a text for an input; an input is a named bag
Task.with({ input: z.string() });
// @ts-expect-error: a number for an output
Task.with({ output: z.number() });
// @ts-expect-error: an enumeration for an input
Task.with({ input: z.enum(["a", "b"]) });
// @ts-expect-error: an object that may be missing
Task.with({ input: z.object({}).optional() });
// @ts-expect-error: an object that may be null
Task.with({ output: z.object({}).nullable() });
// @ts-expect-error: an object that a transform turns into text
Task.with({ input: z.object({ id: z.string() }).transform(({ id }) => id) });
// @ts-expect-error: a text of another library
Task.with({ input: v.string() });
// @ts-expect-error: a bare record of schemas, without z.object
Task.with({ input: { orderId: z.string() } });
// @ts-expect-error: the type in the place of the schema
Task.with({ input: String });
// @ts-expect-error: the schema alone, without naming the part
Task.with(z.object({ orderId: z.string() }));
// @ts-expect-error: input and output as two arguments
Task.with(z.object({}), z.object({}));
// @ts-expect-error: a misspelt part
Task.with({ inputs: z.object({}) });
// @ts-expect-error: a policy among the parts
Task.with({ input: z.object({}), retry: 3 });
// @ts-expect-error: a name that is no text
Task.with({ name: Symbol("Ping") });
// @ts-expect-error: a task has its contract; what extends it cannot be given another
void ChargeCard.with;

// The class.
export class Named extends Task.with() {
  static override taskName = "billing.named";
  work(): void {}
}
export type Statics = [
  Expect<Equal<(typeof Ping)["taskName"], string>>,
  Expect<Equal<(typeof Ping)["telemetry"], Telemetry>>,
  Expect<Equal<(typeof Ping)["schema"], TaskSchema>>,
];
// @ts-expect-error: a name that is no text
export class WrongName extends Task.with() {
  static override taskName = 42;
  work(): void {}
}
// @ts-expect-error: `execute` is not to be replaced by something else
export class OwnExecute extends Task.with() {
  static override execute = 1;
  work(): void {}
}
export class OwnInput extends ChargeCard {
  // @ts-expect-error: a field of the class that hides the input
  override readonly input = "mine";
}
export class OwnRollback extends Task.with() {
  work(): void {}
  override async rollback(): Promise<void> {}
}
export class RollbackTakesNothing extends Task.with() {
  work(): void {}
  // @ts-expect-error: rollback is called without arguments
  override rollback(reason: string): string {
    return reason;
  }
}
// @ts-expect-error: a class extends what `with` returns, not the contract
export class ExtendsContract extends z.object({}) {}
// @ts-expect-error: telemetry is each class's own
Ping.telemetry = ChargeCard.telemetry;
// @ts-expect-error: the schema is made from the contract
Ping.schema = ChargeCard.schema;
// @ts-expect-error: a member that the application's base keeps to itself
new ChargeCard().audit("x");
// @ts-expect-error: what `with` returns is abstract
void new (Task.with())();
// @ts-expect-error: an abstract base is no class that can be run
export const runnable: TaskClass = ApplicationTask;
// @ts-expect-error: another task's class
export const otherClass: TaskClass<ChargeCard> = Ping;
// @ts-expect-error: any class at all
export const anyClass: TaskClass = Date;
