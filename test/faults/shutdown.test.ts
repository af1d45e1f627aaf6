import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startRedis, type RedisServer } from "../support/redis.js";
import { readAccount, summary } from "./account.js";
import { chances, Crew, LONG } from "./crew.js";
import { expectKept, expectNobodyRobbed, heldKeys } from "./disturb.js";

const SEED = 20_261_102;
const WAVES = LONG ? 60 : 2;
const SIZE = 3;

let servers: RedisServer[] = [];
beforeAll(async () => {
  servers = await Promise.all([startRedis(), startRedis()]);
});
afterAll(() => Promise.all(servers.map((server) => server.stop())));

test(
  `${WAVES * SIZE} processes ended with SIGTERM and shutdown(): no key is left behind, and no run is cut off (seed ${SEED})`,
  async () => {
    const [store, ledger] = servers.map(({ port }) => port);
    if (store === undefined || ledger === undefined) throw new Error("both servers run");
    const chance = chances(SEED);
    const codes: unknown[] = [];
    const held: string[] = [];
    for (let wave = 0; wave < WAVES; wave += 1) {
      const crew = await Crew.start(SIZE, { ports: [store], ledgerPort: ledger, seed: SEED + wave * 100 });
      codes.push(
        ...(await Promise.all(
          crew.workers.map(async (worker) => {
            await wait(chance() * 400);
            await worker.moves();
            await wait(chance() * 30);
            return worker.terminate();
          }),
        )),
      );
      held.push(...(await heldKeys(store))); // at once: there is no lease to wait for
    }

    const account = await readAccount(ledger);
    console.log(`${codes.length} SIGTERMs (seed ${SEED}): ${summary(account)}`);
    expect(codes.every((code) => code === 0)).toBe(true); // each ended by itself
    expect(held).toEqual([]);
    expect(account.freed).toEqual([]); // none had to be freed by force
    expectKept(account);
    expectNobodyRobbed(account);
    expect(account.runs.filter(({ endedAt }) => endedAt === undefined)).toEqual([]);
    expect(account.runs.filter(({ answer }) => answer === undefined)).toEqual([]);
    const unrecorded = account.runs.filter(
      ({ key, outcome, completed }) => key?.startsWith("cmdx:idem:") === true && outcome === "success" && completed !== true,
    );
    expect(unrecorded).toEqual([]);
    expect(account.runs.filter(({ outcome }) => outcome === "stopped").length).toBeGreaterThan(0); // the signals came in the middle of work
  },
  LONG ? 1_800_000 : 180_000,
);
