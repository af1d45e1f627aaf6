import { bullmqEngine } from "taskwright/bullmq";
import { engineContract } from "taskwright/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { providePostgres, type PostgresServer } from "../support/postgres.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await providePostgres();
}, 60_000);
afterAll(() => server.stop());

const impatient = { lease: "600ms", stallCheck: "300ms", cancelCheck: "100ms" } as const;
const open = (namespace: string) => bullmqEngine({ backend: "postgres", connection: server.url, ...impatient })(namespace);

engineContract({ name: "BullMQ on PostgreSQL", describe, it, expect, source: open, peer: open });
