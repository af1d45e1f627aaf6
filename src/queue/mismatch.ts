import { KeyMismatchError } from "../errors.js";
import type { EngineCalls } from "./engine-calls.js";
import type { JobRecord, Receipt } from "./port.js";
import type { Prepared } from "./prepare.js";
import type { Wire } from "./wire.js";

/** How often the holder of a key may be gone before its payload was seen, until the call is told to come again. */
const REPEATS = 3;

/** For calls that want to hear when their key is held by a job with another payload. */
export class Mismatches {
  readonly #calls: EngineCalls;
  readonly #wire: Wire;

  constructor(calls: EngineCalls, wire: Wire) {
    this.#calls = calls;
    this.#wire = wire;
  }

  /**
   * Before anything is enqueued: entries of one call that are at odds with each other.
   *
   * @throws {KeyMismatchError}
   */
  checkBatch(batch: readonly Prepared[]): void {
    const first = new Map<string, Prepared>();
    for (const entry of batch) {
      const { key } = entry.job;
      const other = key === undefined ? undefined : first.get(key);
      if (key === undefined) continue;
      if (other === undefined) first.set(key, entry);
      else if (entry.settings.onMismatch === "reject" && (other.job.task !== entry.job.task || !isSame(other.bytes, entry.bytes)))
        throw new KeyMismatchError(
          `Two entries of one call have the key ${key} and different payloads. Nothing was enqueued.`,
          key,
          undefined,
        );
    }
  }

  /**
   * Looks at the holder that a call has resolved to. The holder may have ended meanwhile and be forgotten; then there is nothing to
   * be at odds with, and the call is made again:
   *
   *     this call  |- coalesced onto job 1          |- job 1 is gone: enqueued again, as job 2
   *     job 1    --|- runs -----|- ends, forgotten
   *
   * @throws {KeyMismatchError} when its payload is another, or cannot be read here.
   */
  async settle(entry: Prepared, given: Receipt): Promise<Receipt> {
    let receipt = given;
    for (let repeats = 0; receipt.coalesced; repeats += 1) {
      const { id } = receipt;
      const record = await this.#calls.ask({ what: "look at a job" }, (engine) => engine.get(id));
      if (record !== undefined) {
        await this.#compare(entry, record);
        return receipt;
      }
      if (repeats === REPEATS)
        throw new KeyMismatchError(`${holds(entry, id)}, and none of them stays long enough to be compared.`, keyOf(entry), id);
      const [again] = await this.#calls.ask({ what: "enqueue a job", ids: [entry.job.id] }, (engine) => engine.enqueue([entry.job]));
      receipt = again ?? receipt;
    }
    return receipt;
  }

  async #compare(entry: Prepared, record: JobRecord): Promise<void> {
    const held = await this.#wire.unpack(record.payload).catch(() => undefined); // of another release: not known to be the same
    if (held !== undefined && record.task === entry.job.task && isSame(held.bytes, entry.bytes)) return;
    throw new KeyMismatchError(
      `${holds(entry, record.id)} with another payload. Give each request a key of its own.`,
      keyOf(entry),
      record.id,
    );
  }
}

function holds(entry: Prepared, id: string): string {
  return `The key ${keyOf(entry)} is held by the job ${id}`;
}

function keyOf({ job }: Prepared): string {
  return job.key ?? "";
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
