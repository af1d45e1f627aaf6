import { bullmqEngine } from "taskwright/bullmq";
import { engineContract } from "taskwright/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { provideRedis } from "../support/redis.js";

let server: Awaited<ReturnType<typeof provideRedis>>;
beforeAll(async () => {
  server = await provideRedis();
});
afterAll(() => server.stop());

const impatient = { lease: "600ms", stallCheck: "300ms", cancelCheck: "100ms" } as const;
const open = (namespace: string) => bullmqEngine({ connection: server.url, ...impatient })(namespace);

engineContract({ name: "BullMQ on Redis", describe, it, expect, source: open, peer: open });
