import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, describe, expect, test } from "vitest";
import { configure, resetConfiguration, type TelemetryEvent } from "taskwright";
import { recordEvents, warningsOf } from "../support/builders.js";
import { charge, chargeTask, pausedTask, world } from "./world.js";

afterEach(resetConfiguration);

const JOB_EVENTS = ["job_enqueued", "job_started", "job_completed", "job_retried", "job_dead", "job_cancelled"] as const;

const told = (events: readonly TelemetryEvent[]): unknown[] => events.map(({ name, payload }) => ({ [name]: payload }));

describe("the events of a job", () => {
  test("tell its way to the end, beside those of its runs", async () => {
    const { queue, clock } = world();
    const events = recordEvents(...JOB_EVENTS);
    const Charge = chargeTask((charged) => {
      if (charged.length === 1) throw new Error("declined");
    });
    const job = await queue.enqueue(Charge, charge, { attempts: 2, backoff: "1s", uniqueKey: "k" });
    await queue.work([Charge]);
    await clock.advance(1_000);
    expect(told(events)).toEqual([
      { job_enqueued: { coalesced: false, key: "k" } },
      { job_started: { attempt: 1 } },
      { job_retried: { attempt: 1, delayMs: 1_000 } },
      { job_started: { attempt: 2 } },
      { job_completed: { attempt: 2 } },
    ]);
    expect(events[0]).toMatchObject({ task: "charge_customer", jobId: job.id, chainId: undefined, timestamp: Date.UTC(2030, 0, 1) });
    expect(Object.isFrozen(events[0])).toBe(true);
    expect(events.map((event) => "jobId" in event && event.jobId)).toEqual(Array(5).fill(job.id));
  });

  test("say of each call whether it was coalesced, with the id of the job that it resolved to", async () => {
    const { queue } = world();
    const events = recordEvents("job_enqueued");
    const [first] = await queue.enqueueMany(chargeTask(), [
      { input: charge, uniqueKey: "k" },
      { input: charge, uniqueKey: "k" },
      { input: charge },
    ]);
    expect(told(events)).toEqual([
      { job_enqueued: { coalesced: false, key: "k" } },
      { job_enqueued: { coalesced: true, key: "k" } },
      { job_enqueued: { coalesced: false, key: undefined } },
    ]);
    expect(events[1]).toMatchObject({ jobId: first?.id });
  });

  test("tell of a dead job why it died", async () => {
    const { queue, settle } = world();
    const events = recordEvents("job_dead");
    const Charge = chargeTask(() => Promise.reject(new Error("declined")));
    await queue.work([Charge]);
    await queue.enqueue(Charge, charge);
    await settle();
    expect(told(events)).toEqual([{ job_dead: { attempt: 1, reason: "declined" } }]);
  });

  test("tell of a cancelled one, whether it was pending or running, once", async () => {
    const { queue, settle } = world();
    const events = recordEvents("job_cancelled", "job_completed", "job_dead");
    const { Paused, pause } = pausedTask();
    const pending = await queue.enqueue(Paused, charge);
    await pending.cancel();
    await pending.cancel();
    await queue.work([Paused]);
    const running = await queue.enqueue(Paused, charge);
    await pause.reached;
    await running.cancel();
    await settle();
    expect(events).toMatchObject([
      { name: "job_cancelled", jobId: pending.id },
      { name: "job_cancelled", jobId: running.id },
    ]);
  });

  test("reach the listeners of the class, and the channel for everybody else", async () => {
    const { queue } = world();
    const Charge = chargeTask();
    const heard: unknown[] = [];
    const listen = (event: unknown): void => void heard.push(event);
    Charge.telemetry.subscribe("job_enqueued", ({ jobId }) => heard.push(jobId));
    subscribe("taskwright:job_enqueued", listen);
    const job = await queue.enqueue(Charge, charge);
    unsubscribe("taskwright:job_enqueued", listen);
    expect(heard).toEqual([job.id, expect.objectContaining({ jobId: job.id })]);
  });

  test("change nothing when a listener throws", async () => {
    const { queue } = world();
    configure((config) => {
      config.telemetry.subscribe("job_enqueued", () => {
        throw new Error("no metrics");
      });
    });
    const warnings = await warningsOf(() => queue.enqueue(chargeTask(), charge));
    expect(warnings.map(({ message }) => message)).toEqual(["A listener of job_enqueued failed: no metrics"]);
  });
});
