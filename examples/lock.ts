/**
 * A lock: two transfers touch one wallet, and never at the same time. With `wait`, the second takes its turn; without, it is told.
 */
import { configure, lockWith, Task } from "taskwright";
import { z } from "zod";

const balances = new Map([["w-1", 1_000]]);
const pause = () => new Promise((resolve) => setTimeout(resolve, 10));

configure((config) => {
  config.telemetry.subscribe("lock_acquired", ({ payload }) => console.log(`  holds ${payload.lockKey}`));
  config.telemetry.subscribe("lock_refused", ({ payload }) => console.log(`  finds ${payload.lockKey} held`));
});

@lockWith("walletId", { wait: "5s" })
class Withdraw extends Task.with({ input: z.object({ walletId: z.string(), cents: z.number() }) }) {
  async work() {
    const before = balances.get(this.input.walletId) ?? 0;
    await pause(); // without the lock, both would have read the same balance by now
    balances.set(this.input.walletId, before - this.input.cents);
    return { leftCents: before - this.input.cents };
  }
}

@lockWith({ wait: 0 })
class WithdrawAtOnce extends Withdraw {}

console.log("Two that wait:");
await Promise.all([Withdraw.execute({ walletId: "w-1", cents: 300 }), Withdraw.execute({ walletId: "w-1", cents: 200 })]);
console.log(`  ${balances.get("w-1")} cents are left`);

console.log("Two that do not:");
const [first, second] = await Promise.all([
  WithdrawAtOnce.execute({ walletId: "w-1", cents: 100 }),
  WithdrawAtOnce.execute({ walletId: "w-1", cents: 100 }),
]);
console.log(`  ${first.status}, and ${second.status} with the code ${second.metadata["code"]}; ${balances.get("w-1")} cents are left`);
