import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { root } from "../../scripts/tsc.mjs";
import { runProgram } from "../support/run-program.js";

/** Runs a program that imports the built package by its name, in a process of its own. */
function run(text: string): ReturnType<typeof runProgram> {
  const home = join(root, "tmp/queue-ends");
  mkdirSync(home, { recursive: true });
  const file = join(mkdtempSync(join(home, "end-")), "program.mjs");
  writeFileSync(file, `import { Task } from "taskwright";\nimport { Queue } from "taskwright/queue";\n${text}`);
  return runProgram(file, { cwd: root, timeoutMs: 60_000 });
}

const TASK = `
  class Sample extends Task.with() {
    work() { console.log("worked"); }
  }
  const queue = new Queue();
`;

describe("a process with a memory engine", { timeout: 90_000 }, () => {
  test("ends by itself with pending jobs and schedules, and no worker for them", async () => {
    const ended = await run(`${TASK}
      await queue.enqueue(Sample, {}, { delay: "1h" });
      await queue.schedule("s", Sample, {}, { every: "1h" });
      await queue.enqueue(Sample);
      console.log("ended");
    `);
    expect(ended).toMatchObject({ code: 0, stdout: "ended\n", stderr: "" });
  });

  test("ends by itself when its worker has nothing left to do, and remembered jobs do not keep it", async () => {
    const ended = await run(`${TASK}
      await queue.work([Sample]);
      await (await queue.enqueue(Sample)).result();
    `);
    expect(ended).toMatchObject({ code: 0, stdout: "worked\n", stderr: "" });
  });

  test("stays for a delayed job that its worker is to do", async () => {
    const ended = await run(`${TASK}
      await queue.work([Sample]);
      await queue.enqueue(Sample, {}, { delay: "200ms" });
    `);
    expect(ended).toMatchObject({ code: 0, stdout: "worked\n", stderr: "" });
  });
});
