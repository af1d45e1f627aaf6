/**
 * A rate limit: so many runs in each window of time, for each tenant. A manual clock shows how windows end without waiting.
 */
import { configure, MemoryStore, rateLimit, Task } from "taskwright";
import { ManualClock } from "taskwright/testing";
import { z } from "zod";

const clock = new ManualClock();
configure((config) => {
  config.clock = clock;
  config.store = new MemoryStore({ clock }); // on a RedisStore, all processes share the counts
});

@rateLimit({ limit: 3, per: "1m", by: "tenantId", unless: (task: SendMail) => task.input.urgent })
class SendMail extends Task.with({
  input: z.object({ tenantId: z.string(), to: z.email().default("ada@example.com"), urgent: z.boolean().default(false) }),
}) {
  work() {
    return { sentTo: this.input.to };
  }
}

async function send(count: number, tenantId: string): Promise<string> {
  const told: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const result = await SendMail.execute({ tenantId });
    told.push(result.ok ? "sent" : `refused for ${Number(result.metadata["retryAfterMs"]) / 1_000} s`);
  }
  return told.join(", ");
}

console.log("t-1:", await send(4, "t-1"));
console.log("t-2:", await send(1, "t-2"));

await clock.advance(45_000);
console.log("t-1 after 45 s:", await send(1, "t-1"));

const urgent = await SendMail.execute({ tenantId: "t-1", urgent: true });
console.log("t-1, an urgent one:", urgent.status);

await clock.advance(15_000);
console.log("t-1 after 60 s:", await send(4, "t-1"));
