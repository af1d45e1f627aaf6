import type { BullmqOptions } from "taskwright/bullmq";

export const QUEUE_LEASE_MS = 1_500;
/** How long one call of the storage may take, and one of the queue. */
export const TIME_LIMIT_MS = 1_000;
export const TIMEOUT_MS = 1_250;

/** What a process is told. */
export interface QueueSettings {
  readonly engine: BullmqOptions;
  readonly namespace: string;
  readonly ledgerPort: number;
  readonly seed: number;
  readonly timeout: `${number}ms`;
  readonly keys: number;
  /** How many calls are under way at once in each process, and how many jobs. */
  readonly callers: number;
  readonly concurrency: number;
  readonly workMs: number;
  /** The length of one work in twenty. */
  readonly longMs: number;
  readonly pauseMs: number;
  /** A process that has no time for so long says so. */
  readonly slowMs: number;
}

export const USUAL: Omit<QueueSettings, "engine" | "namespace" | "ledgerPort" | "seed"> = {
  timeout: `${TIMEOUT_MS}ms`,
  keys: 12,
  callers: 4,
  concurrency: 6,
  workMs: 60,
  longMs: QUEUE_LEASE_MS + 500,
  pauseMs: 40,
  slowMs: QUEUE_LEASE_MS / 4,
};

/** Times that let a test see in seconds what takes minutes. Nothing is to die of workers that do: there are many. */
export const IMPATIENT = {
  timeLimit: `${TIME_LIMIT_MS}ms`,
  lease: `${QUEUE_LEASE_MS}ms`,
  stallCheck: "500ms",
  maxStalls: 1_000,
} as const;

/** The words that failing work gives. */
export const DECLINED = "declined";
