import type { EngineSchedule } from "../../queue/port.js";
import { completed, DEFAULTS, type EngineCase } from "./engine-bench.js";

export const scheduleCases: readonly EngineCase[] = [
  {
    name: "each tick of an interval is a job of its own, with all that the schedule says",
    async run(bench) {
      const worker = await bench.work();
      const options = { ...DEFAULTS, attempts: 2, priority: 3 };
      await bench.engine.schedule(scheduleOf({ task: "Nightly", payload: '{"a":1}', options }));
      await bench.eventually("three ticks", () => worker.started.length >= 3);
      await bench.engine.unschedule("s");
      const attempts = worker.started.map(({ attempt }) => attempt);
      bench.equal(new Set(attempts.map(({ id }) => id)).size, attempts.length);
      for (const { task, payload, key, options: given } of attempts) {
        bench.equal([task, payload, key, given], ["Nightly", '{"a":1}', undefined, options]);
      }
      const [first] = attempts;
      const record = await bench.becomes(first?.id ?? "", "completed");
      bench.equal([record.task, record.answer], ["Nightly", "done"]);
    },
  },
  {
    name: "a tick whose key is held coalesces, and later ticks still come",
    async run(bench) {
      let finish = (): void => {};
      const worker = await bench.work(async () => {
        await new Promise<void>((resolve) => (finish = resolve));
        return completed();
      });
      await bench.engine.schedule(scheduleOf({ key: "k" }));
      for (const runs of [1, 2, 3]) {
        await bench.eventually(`run ${runs}`, () => worker.started.length === runs);
        await bench.pass(350); // several ticks
        bench.equal(worker.started.length, runs);
        const { attempt } = worker.started.at(-1) ?? {};
        bench.equal(await bench.engine.holder("k"), attempt?.id);
        bench.coalesced(await bench.enqueue(bench.job({ key: "k" })), { id: attempt?.id ?? "" });
        finish();
      }
      await bench.engine.unschedule("s");
      finish();
    },
  },
  {
    name: "a schedule by a cron expression with seconds ticks",
    async run(bench) {
      const worker = await bench.work();
      await bench.engine.schedule(scheduleOf({ every: { cron: "* * * * * *", timeZone: "Europe/Berlin" } }));
      await bench.eventually("two ticks", () => worker.started.length >= 2);
      await bench.engine.unschedule("s");
    },
  },
  {
    name: "schedules are listed, and replaced by one of the same name",
    async run(bench) {
      const rare = { intervalMs: 3_600_000 };
      await bench.engine.schedule(scheduleOf({ name: "b: %3A/ü", every: rare, payload: "first" }));
      await bench.engine.schedule(scheduleOf({ name: "a", every: { cron: "0 4 * * *", timeZone: "UTC" }, key: "k" }));
      await bench.engine.schedule(scheduleOf({ name: "c", every: { cron: "*/5 * * * * *", timeZone: undefined } }));
      await bench.engine.schedule(scheduleOf({ name: "b: %3A/ü", every: { intervalMs: 7_200_000 }, payload: "second" }));
      const schedules = (await bench.engine.schedules()).toSorted((one, other) => (one.name < other.name ? -1 : 1));
      bench.equal(
        schedules.map(({ name, every, payload, key }) => [name, every, payload, key]),
        [
          ["a", { cron: "0 4 * * *", timeZone: "UTC" }, "tick", "k"],
          ["b: %3A/ü", { intervalMs: 7_200_000 }, "second", undefined],
          ["c", { cron: "*/5 * * * * *", timeZone: undefined }, "tick", undefined],
        ],
      );
      bench.equal(schedules[0]?.options, DEFAULTS);
    },
  },
  {
    name: "a schedule that has ended ticks no more, and what it has enqueued stays",
    async run(bench) {
      bench.equal(await bench.engine.unschedule("s"), false);
      const worker = await bench.work();
      await bench.engine.schedule(scheduleOf({ options: { ...DEFAULTS, delayMs: 400 } }));
      await bench.eventually("a job", () => worker.started.length > 0);
      bench.equal(await bench.engine.unschedule("s"), true);
      bench.equal(await bench.engine.unschedule("s"), false);
      bench.equal(await bench.engine.schedules(), []);
      await bench.pass(800); // what had been enqueued before has run by now
      const before = worker.started.length;
      await bench.pass(500);
      bench.equal(worker.started.length, before);
      bench.holds(before > 1, "jobs that waited for their time have run");
    },
  },
];

function scheduleOf(parts: Partial<EngineSchedule>): EngineSchedule {
  return { name: "s", every: { intervalMs: 100 }, task: "Task", payload: "tick", options: DEFAULTS, ...parts };
}
