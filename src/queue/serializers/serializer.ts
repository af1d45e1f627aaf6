/**
 * Turns the input of a job into bytes and back. Keys are derived from these bytes, so equal inputs must give equal bytes.
 * `json` and `cbor` are ours; your own is an object with these three.
 */
export interface Serializer {
  /** Travels with every job, so that a worker knows how to read it. */
  readonly name: string;
  /**
   * @param input What the caller gives; undefined when it was left out.
   * @throws {UnserializableError} for what would not arrive as it was.
   */
  serialize(input: unknown): Uint8Array;
  deserialize(bytes: Uint8Array): unknown;
}
