import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { root } from "../../scripts/tsc.mjs";
import { runProgram } from "../support/run-program.js";
import { builtPackage } from "../scenarios/fixtures/package.js";

/** Runs a program that imports the package by its name, in a process of its own. */
function run(text: string): ReturnType<typeof runProgram> {
  const home = join(builtPackage(), "ends");
  mkdirSync(home, { recursive: true });
  const file = join(mkdtempSync(join(home, "end-")), "program.mjs");
  writeFileSync(file, text);
  return runProgram(file, { cwd: root, timeoutMs: 60_000 });
}

const TASK = `
  import { idempotentBy, literal, MemoryStore, Task } from "taskwright";
  class Nightly extends Task.with() {
    work() { return work(this); }
  }
  idempotentBy(literal("k"), { ttl: "24h", lease: 60 })(Nightly);
`;

describe("a process", { timeout: 90_000 }, () => {
  test("ends by itself after its runs, with slots that live for a day", async () => {
    const ended = await run(`${TASK}
      const work = () => "done";
      console.log((await Nightly.execute()).status, (await Nightly.execute()).status);
    `);

    expect(ended).toMatchObject({ code: 0, stdout: "success skipped\n", stderr: "" });
  });

  test("is not kept alive by the lease of work that waits for nothing", async () => {
    const ended = await run(`${TASK}
      const work = () => new Promise(() => {});
      void Nightly.execute();
      process.on("exit", () => console.log("ended"));
    `);

    expect(ended).toMatchObject({ stdout: "ended\n", stderr: "" });
    expect(ended.code).toBe(0);
  });

  test("waits for a run that waits for another's key", async () => {
    const ended = await run(`
      import { configure, idempotentBy, literal, MemoryStore, Task } from "taskwright";
      const store = new MemoryStore();
      configure((config) => { config.store = store; });
      await store.set("cmdx:idem:Nightly:k", "processing", { owner: "dead", nx: true, ttlMs: 300 });
      class Nightly extends Task.with() {
        work() { return "done"; }
      }
      idempotentBy(literal("k"), { onDuplicate: { processing: "wait" } })(Nightly);
      console.log((await Nightly.execute()).status);
    `);

    expect(ended).toMatchObject({ code: 0, stdout: "success\n", stderr: "" });
  });

  test("can free its keys on SIGTERM and end", async () => {
    const ended = await run(`
      import { idempotentBy, literal, shutdown, Task } from "taskwright";
      class Nightly extends Task.with() {
        work() { return new Promise((resolve) => setTimeout(resolve, 60_000)); }
      }
      idempotentBy(literal("k"))(Nightly);
      process.once("SIGTERM", async () => {
        console.log(JSON.stringify(await shutdown({ grace: "100ms" })));
        process.exit(0);
      });
      void Nightly.execute();
      setTimeout(() => process.kill(process.pid, "SIGTERM"), 50);
    `);

    expect(ended).toMatchObject({ code: 0, stdout: '["cmdx:idem:Nightly:k"]\n', stderr: "" });
  });

  test("hears of no rejection that nobody handled, whatever the store does", async () => {
    const ended = await run(`
      import { configure, idempotentBy, Task } from "taskwright";
      import { z } from "zod";
      process.on("unhandledRejection", (reason) => { console.log("unhandled", reason); });
      const faults = [
        () => Promise.reject(new Error("down")),
        () => { throw new Error("down"); },
        () => new Promise(() => {}),
        () => new Promise((_, reject) => setTimeout(reject, 200, new Error("late"))),
        () => Promise.resolve(undefined),
        () => Promise.resolve({ ok: false, held: undefined }),
        () => Promise.resolve({ ok: false, held: { value: undefined, expiresInMs: Number.NaN } }),
        () => undefined,
        () => Promise.reject(undefined),
      ];
      let turn = 0;
      const fault = () => faults[turn++ % faults.length]();
      let left = 0;
      const good = () => Promise.resolve({ ok: true, fence: 1 });
      configure((config) => {
        config.storeTimeout = "50ms";
        config.store = { get: fault, delete: fault, renew: fault, entries: fault, set: (key, value, { nx }) => (nx && left-- > 0 ? good() : fault()) };
      });
      class Charge extends Task.with({ input: z.object({ id: z.string(), way: z.string() }) }) {
        async work() {
          await new Promise((resolve) => setTimeout(resolve, 70));
          if (this.input.way === "fail") this.fail("declined");
          if (this.input.way === "throw") throw new Error("declined");
        }
      }
      idempotentBy("id", { ttl: 1, lease: "90ms", onDuplicate: { processing: "wait" }, waitFor: "100ms" })(Charge);
      const runs = [];
      for (let at = 0; at < 90; at += 1) {
        left = at % 2;
        runs.push(Charge.execute({ id: String(at % 7), way: ["done", "fail", "throw"][at % 3] }));
        await new Promise((resolve) => setTimeout(resolve, 3));
      }
      const results = await Promise.allSettled(runs);
      console.log(new Set(results.map(({ status }) => status)).size, results.length);
    `);

    expect(ended).toMatchObject({ code: 0, stdout: "1 90\n" });
  });
});
