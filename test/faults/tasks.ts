import { lockWith, rateLimit, Task, type RateLimitOptions } from "taskwright";
import { PausePoint } from "../support/builders.js";

/** A task under one lock. Its runs are counted, its losses kept, and its first run waits at its work if it is told to. */
export function lockedTask({ ttl = "60s" as const, waits = false }: { ttl?: `${number}s`; waits?: boolean } = {}) {
  class Withdraw extends Task.with() {
    static runs = 0;
    static readonly fences: number[] = [];
    static readonly lost: string[] = [];
    static readonly atWork = new PausePoint();

    async work(): Promise<void> {
      Withdraw.runs += 1;
      Withdraw.fences.push(this.lock?.fence ?? 0);
      if (waits && Withdraw.runs === 1) await Withdraw.atWork.pass();
    }
  }
  lockWith(() => "wallet", { ttl })(Withdraw);
  Withdraw.telemetry.subscribe("lock_lost", ({ payload }) => Withdraw.lost.push(payload.why));
  return Withdraw;
}

/** A task under one limit for an hour. */
export function limitedTask({ limit }: Pick<RateLimitOptions, "limit">) {
  class Send extends Task.with() {
    static runs = 0;

    work(): void {
      Send.runs += 1;
    }
  }
  rateLimit({ limit: limit ?? 1, per: "1h" })(Send);
  return Send;
}
