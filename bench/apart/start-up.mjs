/** Prints the nanoseconds of importing the library, and of the first run of a first task. */
import { charge, GIVEN, input, output } from "../charge.mjs";

const start = process.hrtime.bigint();
const { Task } = await import(process.argv[2]);
const imported = process.hrtime.bigint();
class ChargeCustomer extends Task.with({ input, output }) {
  async work() {
    return charge(this.input);
  }
}
await ChargeCustomer.execute(GIVEN);
const ran = process.hrtime.bigint();
console.log(process.argv[3] === "import" ? Number(imported - start) : Number(ran - imported));
