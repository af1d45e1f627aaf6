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
    if (batch.length === 1 || batch.every(({ settings }) => settings.onMismatch === "coalesce")) return;
    const first = new Map<string, Prepared>();
    for (const entry of batch) {
      for (const name of namesOf(entry)) {
        const other = first.get(name);
        if (other === undefined) first.set(name, entry);
        else if (entry.settings.onMismatch === "reject" && !isSameCall(other, entry))
          throw new KeyMismatchError(
            `Two entries of one call have the ${name} and different payloads. Nothing was enqueued.`,
            keyOf(entry),
            undefined,
          );
      }
    }
  }

  /**
   * Looks at the holder that a call has resolved to. The holder may have ended meanwhile and be forgotten; then there is nothing to
   * be at odds with, and the call is made again:
   *
   *     this call  |- coalesced onto job 1          |- job 1 is gone: enqueued again, as job 2
   *     job 1    --|- runs -----|- ends, forgotten
   *
   * An id that the caller gave may be that of an earlier job as well, which stands: that one is looked at in the same way.
   *
   * @throws {KeyMismatchError} when its payload is another, or cannot be read here.
   */
  async settle(entry: Prepared, given: Receipt): Promise<Receipt> {
    if (!given.coalesced && entry.hasOwnId) await this.#checkOwn(entry);
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

  async #checkOwn(entry: Prepared): Promise<void> {
    const record = await this.#calls.ask({ what: "look at a job" }, (engine) => engine.get(entry.job.id));
    if (record !== undefined) await this.#compare(entry, record);
  }

  async #compare(entry: Prepared, record: JobRecord): Promise<void> {
    const held = await this.#wire.unpack(record.payload).catch(() => undefined); // of another release: not known to be the same
    if (held !== undefined && isSameCall({ job: record, bytes: held.bytes }, entry)) return;
    throw new KeyMismatchError(
      record.id === entry.job.id
        ? `There is a job ${record.id} with another payload. Give each request an id of its own.`
        : `${holds(entry, record.id)} with another payload. Give each request a key of its own.`,
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

/** What makes two entries of one call one job, in words. */
function namesOf({ job: { id, key }, hasOwnId }: Prepared): readonly string[] {
  return [...(hasOwnId ? [`id ${id}`] : []), ...(key === undefined ? [] : [`key ${key}`])];
}

interface Call {
  readonly job: { readonly task: string };
  readonly bytes: Uint8Array;
}

function isSameCall(one: Call, other: Call): boolean {
  return one.job.task === other.job.task && Buffer.compare(one.bytes, other.bytes) === 0;
}
