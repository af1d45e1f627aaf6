// A worker in a process of its own. It is told by its argument what to do with its jobs, and tells its parent what happens.
import { bullmqEngine } from "taskwright/bullmq";

/** @type {import("../worker-process.js").Conduct} */
const {
  engine: options,
  namespace,
  concurrency,
  workMs = 0,
  failsOneIn = 0,
  until = false,
  hangs = false,
} = JSON.parse(process.argv[2] ?? "");
const engine = bullmqEngine(options)(namespace);
const tell = (/** @type {object} */ message) => process.send?.(message);
const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));
let runs = 0;

/** @type {import("taskwright/queue").Handler["run"]} */
async function run({ id, payload, signal }) {
  runs += 1;
  tell({ started: id });
  if (hangs) await new Promise(() => {});
  await pause(workMs);
  if (signal.aborted) return { kind: "handed_back", delayMs: 0 };
  // Its payload is the time before which it is to be handed back.
  if (until && Date.now() < Number(payload)) return { kind: "handed_back", delayMs: 30 };
  if (failsOneIn > 0 && runs % failsOneIn === 0) return { kind: "failed", answer: "", reason: "by turns", retry: true };
  return { kind: "completed", answer: `done by ${process.pid}` };
}

const worker = await engine.work(
  {
    run,
    became: ({ id }, ending) => void tell({ became: id, ending }),
    trouble: (error) => void tell({ trouble: String(error) }),
  },
  { concurrency },
);
process.once("message", () => void end());
tell({ ready: true });

async function end() {
  await worker.stop({ graceMs: 5_000 });
  await engine.close();
  process.disconnect();
}
