/** Jobs: what goes in, what comes back, and what cannot be said. */
import type { Result, ResultOf } from "taskwright";
import {
  aesGcm,
  autoKey,
  cborSerializer,
  gzip,
  inlineEngine,
  memoryEngine,
  Queue,
  queued,
  type Codec,
  type Engine,
  type Job,
  type JobHandle,
  type JobRef,
  type Serializer,
} from "taskwright/queue";
import type { Equal, Expect } from "./exact.js";
import { ChargeCard, ListOrders, Ping, Refund } from "./tasks.js";

const queue = new Queue({ engine: memoryEngine(), namespace: "billing", serializer: cborSerializer(), codecs: [gzip()], timeout: "2s" });

// What a caller gives is the input side of the schema, and the handle knows its task.
const job = await queue.enqueue(ChargeCard, { orderId: "a", amount: "5" }, { uniqueKey: "k", attempts: 3, backoff: "1s" });
export type Handle = Expect<Equal<typeof job, JobHandle<typeof ChargeCard>>>;
export const id: string = job.id;
export const coalesced: boolean = job.coalesced;
const result = await job.result({ timeout: "10s" });
export type Typed = Expect<Equal<typeof result, ResultOf<typeof ChargeCard>>>;
if (result.status === "success") {
  const { chargeId, at } = result.output;
  const out: [string, Date] = [chargeId, at];
  void out;
}
const byId = await queue.result(Ping, "some-id");
export type ById = Expect<Equal<typeof byId, Result<{ pong: boolean }>>>;
const looked = await queue.job("some-id");
export type Looked = Expect<Equal<typeof looked, Job | undefined>>;
export type Given = Expect<Equal<Job["input"], unknown>>;

// The input may be left out where nothing in it is required.
await queue.enqueue(Ping);
await queue.enqueue(ListOrders);
await queue.enqueue(ListOrders, {}, { idempotent: true });
await queue.enqueue(Refund, { by: "bank", iban: "x" }, { idempotencyKey: null, uniqueKey: undefined });

// Batches: an input and options in each entry.
const jobs = await queue.enqueueMany(ChargeCard, [
  { input: { orderId: "a", amount: 1 }, uniqueKey: "k" },
  { input: { orderId: "b", amount: "2" }, idempotent: false, id: "own-id" },
]);
export type Many = Expect<Equal<typeof jobs, readonly JobHandle<typeof ChargeCard>[]>>;
await queue.enqueueMany(Ping, [{}, { priority: 1 }]);

// Workers, schedules, classes.
const worker = await queue.work([ChargeCard, Ping, Refund], { concurrency: 5 });
await worker.stop({ grace: "5s" });
await queue.schedule("nightly", ChargeCard, { orderId: "a", amount: 1 }, { cron: "0 3 * * *", timeZone: "Europe/Paris", uniqueKey: "k" });
await queue.schedule("often", Ping, {}, { every: "5m" });

@queued({ idempotent: true, attempts: 5, delay: "1m", keep: { completed: "1h" }, timeout: null, onMismatch: "reject" })
export class Queued extends ChargeCard {
  override async work() {
    this.progress(50);
    const { job } = this;
    const ref: JobRef | undefined = job;
    void ref;
    return super.work();
  }
}
@queued(false)
export class NotQueued extends Queued {}

// Own parts.
export const own: Codec = { name: "own", encode: (bytes) => bytes, decode: async (bytes) => bytes };
export const serializer: Serializer = { name: "own", serialize: () => new Uint8Array(), deserialize: () => ({}) };
export const queue1: Queue = new Queue({
  engine: inlineEngine(),
  serializer,
  codecs: [own],
  retiredCodecs: [aesGcm({ keys: { a: new Uint8Array(32) } })],
});
export const queue2: Queue = new Queue({ engine: (namespace: string): Engine => memoryEngine()(namespace) });
autoKey("charge", new Uint8Array());
autoKey("charge", "text");

// Events.
ChargeCard.telemetry.subscribe("job_enqueued", ({ jobId, payload }) => [jobId.length, payload.coalesced]);
ChargeCard.telemetry.subscribe("job_retried", ({ payload }) => payload.delayMs + payload.attempt);
ChargeCard.telemetry.subscribe("task_started", ({ runId }) => runId.length);

// @ts-expect-error: an input without what is required
await queue.enqueue(ChargeCard, { orderId: "a" });
// @ts-expect-error: no input where one is required
await queue.enqueue(ChargeCard);
// @ts-expect-error: a field of the wrong type
await queue.enqueue(Refund, { by: "card", cardId: 5 });
// @ts-expect-error: a field that the schema does not have
await queue.enqueue(Refund, { by: "card", cardId: "a", iban: "x" });
// @ts-expect-error: the arguments of a function instead of one input
await queue.enqueue(ChargeCard, ["a", 5]);
// @ts-expect-error: a task by its name
await queue.enqueue("ChargeCard", {});
// @ts-expect-error: a misspelt option
await queue.enqueue(Ping, {}, { uniquekey: "k" });
// @ts-expect-error: a key that is no text
await queue.enqueue(Ping, {}, { uniqueKey: 5 });
// @ts-expect-error: another library's word for attempts
await queue.enqueue(Ping, {}, { retries: 5 });
// @ts-expect-error: a time without a unit that exists
await queue.enqueue(Ping, {}, { delay: "5 minutes" });
// @ts-expect-error: a backoff without its delay
await queue.enqueue(Ping, {}, { backoff: { type: "fixed" } });
// @ts-expect-error: a backoff of no type
await queue.enqueue(Ping, {}, { backoff: { type: "linear", delay: 1 } });
// @ts-expect-error: what is to happen on a mismatch, in another word
await queue.enqueue(Ping, {}, { onMismatch: "fail" });
// @ts-expect-error: entries without their input
await queue.enqueueMany(ChargeCard, [{ uniqueKey: "k" }]);
// @ts-expect-error: inputs instead of entries
await queue.enqueueMany(ChargeCard, [{ orderId: "a", amount: 1 }]);
// @ts-expect-error: options beside instead of inside the entries
await queue.enqueueMany(Ping, [{}], { uniqueKey: "k" });
// @ts-expect-error: a task that is not in an array
await queue.work(ChargeCard);
// @ts-expect-error: names instead of tasks
await queue.work(["ChargeCard"]);
// @ts-expect-error: a misspelt option of a worker
await queue.work([Ping], { concurency: 5 });
// @ts-expect-error: a result without its task
await queue.result("some-id");
// @ts-expect-error: the output before the status is known
export const early: unknown = (await job.result()).output;
// @ts-expect-error: a schedule that does not say when
await queue.schedule("s", Ping, {}, {});
// @ts-expect-error: a schedule that says it twice
await queue.schedule("s", Ping, {}, { cron: "* * * * *", every: 5 });
// @ts-expect-error: a time zone for an interval
await queue.schedule("s", Ping, {}, { every: 5, timeZone: "UTC" });
// @ts-expect-error: an id for a job that comes again and again
await queue.schedule("s", Ping, {}, { every: 5, id: "a" });
// @ts-expect-error: an engine instead of what opens one
export const queue3: Queue = new Queue({ engine: memoryEngine()("billing") });
// @ts-expect-error: a serializer by its name
export const queue4: Queue = new Queue({ serializer: "json" });
// @ts-expect-error: keys among the defaults
export const queue5: Queue = new Queue({ defaults: { uniqueKey: "k" } });
// @ts-expect-error: a key for all jobs of a class
queued({ uniqueKey: "k" });
// @ts-expect-error: true turns nothing on
queued(true);
// @ts-expect-error: on a class that is no task
@queued({ attempts: 2 })
export class NoTask {
  work(): void {}
}
// @ts-expect-error: progress that is no number
new Ping().progress("50");
// @ts-expect-error: a run's id on an event of a job
ChargeCard.telemetry.subscribe("job_dead", ({ runId }) => runId.length);
// @ts-expect-error: a key that is not in the encryption's words
aesGcm({ key: new Uint8Array(32) });
// @ts-expect-error: changing a handle
job.id = "other";
