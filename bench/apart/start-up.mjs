/** Prints the nanoseconds of importing the library (`import`), or of the first run of a first task (`run`). */
import { charge, GIVEN, input, output } from "../charge.mjs";
import { clockOf } from "../clock.mjs";

const [library, what, clock] = process.argv.slice(2);
const now = clockOf(clock);

const start = now();
const { Task } = await import(library);
const imported = now();
class ChargeCustomer extends Task.with({ input, output }) {
  async work() {
    return charge(this.input);
  }
}
await ChargeCustomer.execute(GIVEN);
console.log(what === "import" ? imported - start : now() - imported);
