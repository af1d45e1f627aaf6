import { bullmqEngine } from "taskwright/bullmq";
import { engineContract } from "taskwright/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { provideRedis } from "../support/redis.js";

let server: Awaited<ReturnType<typeof provideRedis>>;
beforeAll(async () => {
  server = await provideRedis();
});
afterAll(() => server.stop());

/** Shorter than anybody would have it, and longer than a busy machine stands still. */
const impatient = { lease: "3s", stallCheck: "1s", cancelCheck: "100ms", timeLimit: "30s" } as const;
const open = (namespace: string) => bullmqEngine({ connection: server.url, ...impatient })(namespace);

engineContract({ name: "BullMQ on Redis", describe, it: it.concurrent, expect, source: open, peer: open, patienceMs: 60_000 });
