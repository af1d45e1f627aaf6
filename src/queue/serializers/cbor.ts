import { decode, encode, Token, Type, type DecodeOptions, type EncodeOptions } from "cborg";
import { plainCopy, type Rules, type Treatment } from "./plain.js";
import type { Serializer } from "./serializer.js";

/** The first byte: what follows is CBOR. */
const TAG = 0x02;

/**
 * CBOR in the envelope that task queues of several languages share: `0x02`, then `[[input], {}]`, with the shortest integers, 64-bit
 * floats and keys in order of insertion. So a key that is derived here meets the one that a Python or Java producer derives for the same
 * task name and input. Dates, bigints and bytes arrive as what they were.
 */
export function cborSerializer(): Serializer {
  return Object.freeze({
    name: "cbor",
    serialize: (input: unknown) => encodeCall(input === undefined ? [] : [input], {}),
    deserialize: inputOf,
  });
}

/** The bytes of a call with these arguments, by place and by name. */
export function encodeCall(args: readonly unknown[], named: Readonly<Record<string, unknown>>): Uint8Array {
  return Buffer.concat([Uint8Array.of(TAG), encode([args.map((arg) => plainCopy(arg, RULES)), plainCopy(named, RULES)], ENCODING)]);
}

/** What a task takes as its input: the one argument by place, or those by name. */
function inputOf(bytes: Uint8Array): unknown {
  if (bytes[0] !== TAG) throw new TypeError(`A CBOR payload begins with the byte ${TAG}`);
  const call: unknown = decode(bytes.subarray(1), DECODING);
  const [args, named] = Array.isArray(call) ? (call as unknown[]) : []; // whatever was decoded
  if (!Array.isArray(args) || args.length > 1 || typeof named !== "object" || named === null) {
    throw new TypeError("A CBOR payload for a task is one argument, or arguments by name: [[input], {}]");
  }
  if (Object.keys(named).length === 0) return args[0];
  if (args.length === 0) return named;
  throw new TypeError("A CBOR payload for a task is one argument or arguments by name, and not both");
}

const RULES: Rules = { name: "The cbor serializer", sortKeys: false, treat };
const MAX_UINT64 = 2n ** 64n - 1n;

function treat(value: unknown): Treatment {
  if (typeof value === "string") return value.isWellFormed() ? undefined : { refused: "a text with a lone surrogate" };
  if (typeof value === "bigint")
    return value <= MAX_UINT64 && value >= -1n - MAX_UINT64 ? { value } : { refused: "a bigint beyond 64 bits" };
  if (value instanceof Uint8Array) return { value: new Uint8Array(value) }; // also a Buffer: plain bytes
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? { refused: "an invalid date" } : { value };
  return undefined;
}

const ENCODING: EncodeOptions = {
  float64: true,
  mapSorter: () => 0, // keys stay in their order
  typeEncoders: {
    Date: (value: unknown) => [new Token(Type.tag, 0), new Token(Type.string, (value as Date).toISOString())], // by its type's name a date
  },
};
const DECODING: DecodeOptions = {
  tags: {
    // Text, and seconds since 1970.
    0: (inner) => new Date(inner() as string),
    1: (inner) => new Date(Number(inner()) * 1_000),
  },
};
