import { setTimeout as wait } from "node:timers/promises";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startRedis } from "../support/redis.js";
import { Program } from "./fixtures/package.js";

/** `npm run prove` sets it: as many runs as the long version has. */
const LONG = process.env["TASKWRIGHT_PROVE"] === "long";
const PROCESSES = LONG ? 8 : 4;
const RUNS = LONG ? 2_000 : 100;
const KILLS = LONG ? 40 : 4;
const TTL_MS = 1_500;

type Line =
  | { readonly kind: "enter"; readonly owner: string; readonly fence: number; readonly pid: number }
  | { readonly kind: "leave" | "lost"; readonly owner: string }
  | { readonly kind: "killed"; readonly pid: number };

let servers: Awaited<ReturnType<typeof startRedis>>[] = [];
beforeAll(async () => {
  servers = await Promise.all([startRedis(), startRedis()]);
});
afterAll(() => Promise.all(servers.map((server) => server.stop())));

/** Who is inside by the ledger, line by line: two at once are a broken promise, unless the first was killed or knew that it had lost. */
function overlaps(lines: readonly Line[]): string[] {
  const inside = new Map<string, { readonly pid: number }>();
  const found: string[] = [];
  let fence = 0;
  for (const line of lines) {
    if (line.kind === "killed") {
      for (const [owner, { pid }] of inside) if (pid === line.pid) inside.delete(owner);
    } else if (line.kind === "enter") {
      if (inside.size > 0) found.push(`${line.owner} came in while ${[...inside.keys()].join()} was inside`);
      if (line.fence <= fence) found.push(`${line.owner} came in with the fence ${line.fence} after ${fence}`);
      fence = line.fence;
      inside.set(line.owner, line);
    } else {
      inside.delete(line.owner);
    }
  }
  return found;
}

test(
  `${PROCESSES} processes × ${RUNS} runs on one lock, some of them killed: one inside at a time, and all later runs get through`,
  async () => {
    const [store, ledger] = servers.map(({ url }) => new Redis(url));
    if (store === undefined || ledger === undefined) throw new Error("both servers run");
    const settings = { port: store.options.port, ledgerPort: ledger.options.port, atOnce: 3, options: { ttl: `${TTL_MS}ms`, wait: 3_600 } };
    const answers: Record<string, number>[] = [];
    let [killed, ranInKilled, unfinished] = [0, 0, 0];

    /** Works off its runs; where it is killed on the way, another process takes the rest. */
    async function crew(runs: number): Promise<void> {
      const program = new Program("withdraw.mjs", { ...settings, runs });
      let ran = 0;
      program.onMessage((message) => {
        if (Reflect.get(message as object, "kind") === "ran") ran += 1; // what the program sends is an object
      });
      const mayKill = killed < KILLS;
      if (!mayKill) {
        answers.push((await program.next<{ answers: Record<string, number> }>("done")).answers);
        return;
      }
      killed += 1;
      await program.next("inside"); // it holds the lock, or has just freed it
      await wait((killed * 7) % 20); // somewhere in a run, or between two
      const { pid } = program;
      await program.kill();
      await ledger?.rpush("ledger", JSON.stringify({ kind: "killed", pid } satisfies Line));
      ranInKilled += ran;
      unfinished += Math.min(settings.atOnce, runs - ran);
      await crew(runs - ran);
    }
    const crews = Array.from({ length: PROCESSES }, () => crew(RUNS));
    await Promise.all(crews);

    const lines = (await ledger.lrange("ledger", 0, -1)).map((line) => JSON.parse(line) as Line); // our own program wrote them
    const locks = await store.keys("*");
    const lost = lines.filter(({ kind }) => kind === "lost").length;
    console.log(
      `${lines.filter(({ kind }) => kind === "enter").length} times inside, ${killed} kills, ${lost} locks lost, ${ranInKilled} runs ended in killed processes, ${unfinished} at most on the way`,
    );

    expect(overlaps(lines)).toEqual([]);
    expect(answers.every((answer) => Object.keys(answer).join() === "success")).toBe(true);
    expect(answers.reduce((sum, answer) => sum + (answer["success"] ?? 0), ranInKilled)).toBe(PROCESSES * RUNS);
    expect(locks).toEqual([]);
    store.disconnect();
    ledger.disconnect();
  },
  LONG ? 1_800_000 : 90_000,
);

test("the ledger's check sees two that are inside at once, and a fence that goes back", () => {
  const enter = (owner: string, fence: number, pid = 1): Line => ({ kind: "enter", owner, fence, pid });

  expect(overlaps([enter("a", 1), enter("b", 2)])).toEqual(["b came in while a was inside"]);
  expect(overlaps([enter("a", 2), { kind: "leave", owner: "a" }, enter("b", 1)])).toEqual(["b came in with the fence 1 after 2"]);
  expect(overlaps([enter("a", 1, 7), { kind: "killed", pid: 7 }, enter("b", 2)])).toEqual([]);
});
