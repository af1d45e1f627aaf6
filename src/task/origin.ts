/** Where a run comes from that was enqueued: what of a chain crosses a queue. */
export interface Origin {
  /** The chain of the run that enqueued it; none when no run was around. */
  readonly chainId?: string | undefined;
  /** The run that enqueued it. */
  readonly parentId?: string | undefined;
  readonly correlationId?: string | undefined;
  /** How many runs the run is nested in. */
  readonly depth?: number | undefined;
  /** Its place in the chain, counted on from the run that enqueued it. */
  readonly index?: number | undefined;
}

/** The job that a run is an attempt of. */
export interface JobRef {
  /** The same in all attempts, so it serves as a key towards a provider. */
  readonly id: string;
  /** What the job coalesces by. */
  readonly key: string | undefined;
  /** From 1. */
  readonly attempt: number;
}

/** A job that has reached its worker: what the run that is made of it gets to know. */
export class Arrival {
  readonly job: JobRef;
  readonly origin: Origin;
  readonly progress: (percent: number) => void;

  constructor(job: JobRef, origin: Origin, progress: (percent: number) => void) {
    this.job = job;
    this.origin = origin;
    this.progress = progress;
  }
}
