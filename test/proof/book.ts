interface Success {
  readonly run: string;
  readonly until: number;
}

/** What has become of one key so far, as the store has seen it. Runs are called by their callers' names. */
export class Book {
  /** Successes as the slot has recorded them. */
  readonly successes: Success[] = [];
  /** Runs that were granted the key, and those that changed what stands under it. */
  readonly granted = new Set<string>();
  readonly changed = new Set<string>();
  /** Runs whose release took effect. */
  readonly freed = new Set<string>();
  /** Runs of which a call took effect after its time limit, when nobody waited for it any more. */
  readonly overtaken = new Set<string>();
  /** Runs that a fault has kept from letting go: the call that would have done so failed, or the grant was never heard of. */
  readonly excused = new Set<string>();

  /** A success that is still remembered. */
  liveSuccess(now: number): Success | undefined {
    return this.successes.find(({ until }) => now < until);
  }

  /** Did a success of this run reach the slot, and was it still there at that time? */
  hasRecorded(name: string, at = 0): boolean {
    return this.successes.some(({ run, until }) => run === name && at < until);
  }

  /** As a text, to tell states apart. */
  text(): string {
    const sets = [this.granted, this.changed, this.freed, this.overtaken, this.excused];
    return [...this.successes.map(({ run, until }) => `${run}${until}`), ...sets.flatMap((names) => ["-", ...names])].join();
  }
}
