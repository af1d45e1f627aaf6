import { isUtf8 } from "node:buffer";
import type { Awaitable } from "../support/and-then.js";
import type { Origin } from "../task/origin.js";
import type { Codec } from "./codecs/codec.js";
import { cborSerializer } from "./serializers/cbor.js";
import { jsonSerializer } from "./serializers/json.js";
import type { Serializer } from "./serializers/serializer.js";

/** What travels beside the input of a job, readable without any codec. No key is derived from it. */
export interface Headers {
  readonly origin?: Origin | undefined;
  /** How long one attempt may take. */
  readonly timeoutMs?: number | undefined;
}

/** The text that engines keep. Bytes that are text stand in it as they are, others in base64. */
interface Envelope extends Headers {
  readonly v: 1;
  /** How the bytes were made. */
  readonly serializer: string;
  /** What was done to them since, in this order. */
  readonly codecs?: readonly string[] | undefined;
  readonly text?: string;
  readonly base64?: string;
}

export interface Unpacked extends Headers {
  readonly serializer: string;
  /** The serialized bytes, as they were before the codecs. */
  readonly bytes: Uint8Array;
}

/** This queue was not told how to read the text, though another might have been. */
export class UnknownFormatError extends Error {}

/** What was damaged, or was never ours. It says no more: what it is about may be a secret, and reasons of jobs are kept in the open. */
export class DamagedPayloadError extends Error {
  constructor(cause: unknown) {
    super("The payload is damaged, or is not one of this queue", { cause });
  }
}

/** The way of values into the text that engines keep, and back. */
export class Wire {
  readonly serializer: Serializer;
  readonly #codecs: readonly Codec[];
  readonly #serializers: ReadonlyMap<string, Serializer>;
  readonly #decoders: ReadonlyMap<string, Codec>;

  /** @param retired Codecs that are not used any more, but may be needed to read what is still there. */
  constructor(serializer: Serializer, codecs: readonly Codec[], retired: readonly Codec[]) {
    this.serializer = serializer;
    this.#codecs = codecs;
    this.#serializers = new Map([jsonSerializer(), cborSerializer(), serializer].map((known) => [known.name, known]));
    this.#decoders = new Map([...retired, ...codecs].map((codec) => [codec.name, codec]));
  }

  pack(serialized: Uint8Array, headers: Headers): Awaitable<string> {
    if (this.#codecs.length === 0) return this.#envelope(serialized, headers);
    return this.#encoded(serialized).then((bytes) => this.#envelope(bytes, headers));
  }

  async #encoded(serialized: Uint8Array): Promise<Uint8Array> {
    let bytes = serialized;
    for (const codec of this.#codecs) bytes = await codec.encode(bytes);
    return bytes;
  }

  #envelope(bytes: Uint8Array, headers: Headers): string {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const envelope: Envelope = {
      v: 1,
      serializer: this.serializer.name,
      codecs: this.#codecs.length === 0 ? undefined : this.#codecs.map(({ name }) => name),
      ...headers,
      ...(isUtf8(buffer) ? { text: buffer.toString("utf8") } : { base64: buffer.toString("base64") }),
    };
    return JSON.stringify(envelope);
  }

  /**
   * @throws {UnknownFormatError} when the queue lacks what reads it.
   * @throws {DamagedPayloadError}
   */
  async unpack(text: string): Promise<Unpacked> {
    try {
      const envelope = JSON.parse(text) as Envelope; // looked at just below, and what else it may be, in the catch
      if (typeof envelope !== "object" || envelope === null || envelope.v !== 1)
        throw new UnknownFormatError("This payload is of another version of the queue, or of another program");
      const { serializer, codecs = [], origin, timeoutMs, text: plain, base64 = "" } = envelope;
      let bytes: Uint8Array = plain === undefined ? Buffer.from(base64, "base64") : Buffer.from(plain, "utf8");
      for (const name of codecs.toReversed()) bytes = await this.#decoder(name).decode(bytes);
      return { serializer, bytes, origin: origin ?? undefined, timeoutMs };
    } catch (thrown) {
      throw readingError(thrown);
    }
  }

  /** @throws as for `unpack`. */
  deserialize({ serializer, bytes }: Unpacked): unknown {
    const known = this.#serializers.get(serializer);
    if (known === undefined) throw new UnknownFormatError(`This queue has no serializer ${JSON.stringify(serializer)}`);
    try {
      return known.deserialize(bytes);
    } catch (thrown) {
      throw readingError(thrown);
    }
  }

  #decoder(name: string): Codec {
    const codec = this.#decoders.get(name);
    if (codec === undefined) throw new UnknownFormatError(`This queue has no codec ${JSON.stringify(name)}`);
    return codec;
  }
}

function readingError(thrown: unknown): Error {
  return thrown instanceof UnknownFormatError ? thrown : new DamagedPayloadError(thrown);
}
