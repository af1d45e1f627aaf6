/**
 * What is done to the bytes of a payload on their way: compression, encryption, whatever you like. Derived keys are made before
 * any codec, so a codec may give other bytes each time. The answer of a job goes through the same codecs.
 */
export interface Codec {
  /** Travels with every job, so that a worker knows what to undo. */
  readonly name: string;
  encode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
  decode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
}
