import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../../scripts/tsc.mjs";
import { Program } from "../scenarios/fixtures/package.js";
import { startRedis, type RedisServer } from "../support/redis.js";
import { LONG } from "./crew.js";
import { growth, type Sample, type Soak } from "./flat.js";

const LENGTH_MS = LONG ? 600_000 : 25_000;
const LOAD_MS = LONG ? 5_000 : 1_200;
/** How much the heap may seem to grow over the second half: as much as its samples differ by themselves. */
const NOISE_BYTES = 1_000_000;

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** Lets the program run to its end, and reads what it wrote. */
async function soak(settings: { lengthMs: number; loadMs: number; leaks: boolean }): Promise<Soak & { readonly end: unknown }> {
  mkdirSync(join(root, "tmp"), { recursive: true });
  const out = join(root, "tmp", `soak${LONG ? "-long" : ""}${settings.leaks ? "-leaks" : ""}.json`);
  const program = new Program("soak.mjs", { port: server.port, out, ...settings });
  await program.next("done"); // fails with what it said when it ended before, by a rejection that nobody handled say
  const end = await program.end(20_000);
  return { ...(JSON.parse(readFileSync(out, "utf8")) as Soak), end }; // our own program wrote it
}

const MEGABYTE = 1_000_000;
const table = (samples: readonly Sample[]): string =>
  samples
    .map(({ atMs, heapUsed, runs }) => `${(atMs / 1_000).toFixed(0)} s: ${(heapUsed / MEGABYTE).toFixed(2)} MB, ${runs} runs`)
    .join("; ");

test(
  "a mixed load leaves nothing behind: heap, timers, handles, listeners and keys stay flat, and the process ends by itself",
  async () => {
    const { samples, answers, warnings, end } = await soak({ lengthMs: LENGTH_MS, loadMs: LOAD_MS, leaks: false });
    const later = samples.slice(1);
    const most = (valueOf: (sample: Sample) => number): number => Math.max(...later.map(valueOf));
    const grown = growth(later, ({ heapUsed }) => heapUsed);
    console.log(`${table(samples)}\nheap over the second half: ${grown.toFixed(0)} bytes\n${JSON.stringify(answers)}`);

    expect(end).toBe(0);
    expect(warnings).toEqual([]);
    expect(later.length).toBeGreaterThan(4);
    expect(grown).toBeLessThan(NOISE_BYTES);
    expect(most(({ timers }) => timers)).toBeLessThanOrEqual(2); // the one that alarms share, and the sweep of a memory store
    expect(most(({ resources }) => resources)).toBeLessThanOrEqual(samples[0]?.resources ?? 0);
    expect(most(({ listeners }) => listeners)).toBe(0);
    expect(most(({ redisKeys }) => redisKeys)).toBe(0);
    expect(most(({ memoryKeys }) => memoryKeys)).toBe(0);
    expect(Object.keys(answers)).toEqual(expect.arrayContaining(EVERY_KIND));
  },
  LENGTH_MS * 3 + 60_000,
);

/** What the load must have met, so that it is a mixed one. */
const EVERY_KIND = [
  "redis.charge success duplicate",
  "redis.charge failed",
  "redis.charge skipped",
  "memory.charge success duplicate",
  "Withdraw failed locked",
  "Send failed rate_limited",
  "Call failed circuit_open",
  "Slow failed timeout",
  "Order failed aborted",
  "Order success",
];

test("a load that keeps what it has had is seen", async () => {
  const { samples } = await soak({ lengthMs: 4_000, loadMs: 300, leaks: true });
  expect(growth(samples.slice(1), ({ heapUsed }) => heapUsed)).toBeGreaterThan(0);
}, 60_000);
