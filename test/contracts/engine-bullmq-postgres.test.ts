import { bullmqEngine } from "taskwright/bullmq";
import { engineContract } from "taskwright/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { providePostgres, type PostgresServer } from "../support/postgres.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await providePostgres();
}, 60_000);
afterAll(() => server.stop());

/** Shorter than anybody would have it, and longer than a busy machine stands still, or claims wait for each other. */
const impatient = { lease: "8s", stallCheck: "1s", cancelCheck: "100ms", timeLimit: "30s" } as const;
const open = (namespace: string) => bullmqEngine({ backend: "postgres", connection: server.url, ...impatient })(namespace);

engineContract({ name: "BullMQ on PostgreSQL", describe, it: it.concurrent, expect, source: open, peer: open, patienceMs: 60_000 });
