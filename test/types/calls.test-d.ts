/** Wrong calls of `execute` and `executeBang`. */
import { Task } from "taskwright";
import { ApplicationTask, ChargeCard, ChargeVip, ListOrders, Ping, Refund } from "./tasks.js";

// The input.
// @ts-expect-error: a required field is missing
await ChargeCard.execute({ orderId: "o1" });
// @ts-expect-error: a field of the wrong type
await ChargeCard.execute({ orderId: 1, amount: 1 });
// @ts-expect-error: a value outside the enumeration
await ChargeCard.execute({ orderId: "o1", amount: 1, currency: "GBP" });
// @ts-expect-error: a misspelt optional field
await ChargeCard.execute({ orderId: "o1", amount: 1, curency: "EUR" });
// @ts-expect-error: a field too many
await ChargeCard.execute({ orderId: "o1", amount: 1, customer: 7 });
// @ts-expect-error: null where a field has a default
await ChargeCard.execute({ orderId: "o1", amount: 1, currency: null });
// @ts-expect-error: no input where one is required
await ChargeCard.execute();
// @ts-expect-error: undefined for an input that is required
await ChargeCard.execute(undefined, { idempotencyKey: "k" });
// @ts-expect-error: the fields one by one instead of one object
await ChargeCard.execute("o1", 1);
// @ts-expect-error: a list of inputs
await ChargeCard.execute([{ orderId: "o1", amount: 1 }]);
// @ts-expect-error: a promise of the input, not awaited
await ChargeCard.execute(Promise.resolve({ orderId: "o1", amount: 1 }));
// @ts-expect-error: JSON text instead of the object
await ChargeCard.execute('{"orderId":"o1","amount":1}');
// @ts-expect-error: a request body of unknown shape, where the task's input is known
await ChargeCard.execute(JSON.parse("{}") as unknown);
// @ts-expect-error: a misspelt field, also of a subclass
await ChargeVip.execute({ orderID: "o1", amount: 1 });
// @ts-expect-error: a wrong type, also where everything may be left out
await ListOrders.execute({ page: "2" });
// @ts-expect-error: a field of the union's other shape
await Refund.execute({ by: "card", iban: "x" });
// @ts-expect-error: an unknown shape of the union
await Refund.execute({ by: "cheque", cardId: "c1" });
// @ts-expect-error: the union without the field that tells its shapes apart
await Refund.execute({ cardId: "c1" });
// @ts-expect-error: a missing field, by the other method
await ChargeCard.executeBang({ orderId: "o1" });
// @ts-expect-error: a field too many, by the other method
await ChargeCard.executeBang({ orderId: "o1", amount: 1, customer: 7 });
// @ts-expect-error: a field for a task that takes nothing
await Ping.execute({ orderId: "o1" });
// @ts-expect-error: a value for a task that takes nothing
await Ping.execute(42);
const body = { orderId: "o1" };
// @ts-expect-error: a whole request body for a task that takes nothing
await Ping.execute(body);
// @ts-expect-error: options in the place of the input, which is left out by undefined
await Ping.execute({ idempotencyKey: "k" });

// The options.
const input = { orderId: "o1", amount: 1 };
await ChargeCard.execute(input, { signal: AbortSignal.timeout(1_000), idempotencyKey: "k", context: { requestId: "r1" } });
await ChargeCard.execute(input, { signal: undefined, idempotencyKey: undefined, context: undefined });
// @ts-expect-error: a key that is no text
await ChargeCard.execute(input, { idempotencyKey: 42 });
// @ts-expect-error: a context that is no object
await ChargeCard.execute(input, { context: "r1" });
// @ts-expect-error: the controller instead of its signal
await ChargeCard.execute(input, { signal: new AbortController() });
// @ts-expect-error: a misspelt option
await ChargeCard.execute(input, { idempotencykey: "k" });
// @ts-expect-error: an option that is the policy's, not the call's
await ChargeCard.execute(input, { timeout: 5 });
// @ts-expect-error: the key alone instead of options
await ChargeCard.execute(input, "k");
// @ts-expect-error: options among the fields of the input
await ChargeCard.execute({ ...input, signal: AbortSignal.timeout(1) });
// @ts-expect-error: a third argument
await ChargeCard.execute(input, {}, () => undefined);

// The class.
class NeedsDatabase extends Task.with() {
  readonly database: string;
  constructor(database: string) {
    super();
    this.database = database;
  }
  work() {
    return { database: this.database };
  }
}
abstract class Unfinished extends Task.with() {
  protected abstract step(): void;
  work(): void {
    this.step();
  }
}
class NoContract extends Task {
  work(): void {}
}
const { execute, executeBang } = ChargeCard;

// @ts-expect-error: the root of all tasks is no task
await Task.execute();
// @ts-expect-error: an application's base is no task
await ApplicationTask.execute();
// @ts-expect-error: an abstract task cannot be run
await Unfinished.execute();
// @ts-expect-error: a class whose constructor wants arguments cannot be run
await NeedsDatabase.execute();
// @ts-expect-error: the same, by the other method
await NeedsDatabase.executeBang();
// @ts-expect-error: a class that never went through `with` has no contract
await NoContract.execute();
// @ts-expect-error: `execute` detached from its class
await execute({ orderId: "o1", amount: 1 });
// @ts-expect-error: `executeBang` detached from its class
await executeBang({ orderId: "o1", amount: 1 });
// @ts-expect-error: `execute` handed over as a function
void [input].map(ChargeCard.execute);
// @ts-expect-error: `execute` on an instance
void new ChargeCard().execute;
