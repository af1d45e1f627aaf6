export { Queue } from "./queue.js";
export type { QueueOptions } from "./queue-options.js";
export type { BatchEntry, EnqueueArguments } from "./arguments.js";
export type { EnqueueOptions, JobSettings, QueuedOptions } from "./options.js";
export type { KeyOptions } from "./keys.js";
export { autoKey } from "./keys.js";
export { queued } from "./queued.js";
export type { CancelAnswer, JobHandle, ResultOptions } from "./handle.js";
export type { Job } from "./job.js";
export type { Schedule, ScheduleOptions } from "./schedule.js";
export type { StopOptions, Worker, WorkOptions } from "./worker.js";
export type { JobRef } from "../task/origin.js";
export { jsonSerializer, type JsonOptions } from "./serializers/json.js";
export { cborSerializer } from "./serializers/cbor.js";
export type { Serializer } from "./serializers/serializer.js";
export { gzip, type GzipOptions } from "./codecs/gzip.js";
export { aesGcm, type AesGcmOptions } from "./codecs/aes-gcm.js";
export type { Codec } from "./codecs/codec.js";
export { memoryEngine } from "./engines/memory/engine.js";
export { inlineEngine } from "./engines/inline.js";
export type {
  Attempt,
  Ending,
  Engine,
  EngineCapabilities,
  EngineJob,
  EngineSchedule,
  EngineSource,
  EngineWorker,
  Handler,
  JobOptions,
  JobRecord,
  JobState,
  Receipt,
  Verdict,
} from "./port.js";
export { KeyMismatchError, NoResultError, QueueClosedError, QueueUnavailableError, UnserializableError } from "../errors.js";
