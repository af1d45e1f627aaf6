/**
 * A circuit breaker: after three failures the bank is left alone, after half a minute one run finds out whether it is back. A manual
 * clock shows it without waiting.
 */
import { circuitBreaker, circuitOf, configure, retryOn, Task } from "taskwright";
import { ManualClock } from "taskwright/testing";
import { z } from "zod";

const clock = new ManualClock();
configure((config) => {
  config.clock = clock;
});

class BankDown extends Error {}
const bank = { down: false, calls: 0 };

@circuitBreaker({ threshold: 3, coolOff: "30s", scope: "bank" })
@retryOn(BankDown, { limit: 1, delay: 0 })
class Charge extends Task.with({ input: z.object({ cents: z.number() }) }) {
  work() {
    bank.calls += 1;
    if (bank.down) throw new BankDown("the bank does not answer");
    if (this.input.cents > 500) this.fail("the card was declined");
    return { charged: this.input.cents };
  }
}
/** Shares the circuit of its parent, since it inherits the scope. */
class Refund extends Charge {}

for (const name of ["circuit_opened", "circuit_half_opened", "circuit_closed"] as const) {
  configure((config) =>
    config.telemetry.subscribe(name, ({ task, payload }) => console.log(`  * ${name}: ${payload.circuit}, by ${task}`)),
  );
}

async function run(task: typeof Charge, cents = 100): Promise<void> {
  const result = await task.execute({ cents });
  console.log(`${result.task}: ${result.status}${result.reason === undefined ? "" : `, ${result.reason}`}`);
}

console.log("All is well, and a declined card says nothing against the bank:");
await run(Charge);
await run(Charge, 900);

console.log("\nThe bank goes down. Retries inside a run are one failure:");
bank.down = true;
for (let at = 0; at < 3; at += 1) await run(Charge);
console.log(`${bank.calls} calls so far`);

console.log("\nNow nobody bothers it:");
await run(Charge);
await run(Refund);
console.log(`${bank.calls} calls still, the circuit is ${circuitOf(Refund)?.state}`);

console.log("\nHalf a minute later it is back, and one run finds out:");
bank.down = false;
await clock.advance(30_000);
await run(Refund);
console.log(`the circuit is ${circuitOf(Charge)?.state}`);
