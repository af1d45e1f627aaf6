import { promisify } from "node:util";
import { gunzip, gzip as compress } from "node:zlib";
import { checkInteger, checkOptions } from "../../support/check.js";
import type { Codec } from "./codec.js";

export interface GzipOptions {
  /** The largest size to pack, and to unpack to, in bytes: a small payload may be made to unpack to a huge one. @default 16 MiB */
  readonly maxBytes?: number;
}

/** Makes payloads smaller. Put it before encryption: what is encrypted does not get smaller any more. */
export function gzip(options: GzipOptions = {}): Codec {
  checkOptions("gzip()", options, ["maxBytes"]);
  const maxOutputLength = checkInteger("gzip(): maxBytes", options.maxBytes ?? 16 * 2 ** 20, 1);
  return Object.freeze({
    name: "gzip",
    // What nobody would unpack is refused while somebody can still hear of it.
    encode: async (bytes: Uint8Array) => {
      if (bytes.byteLength <= maxOutputLength) return promisify(compress)(bytes);
      throw new RangeError(`gzip() takes up to maxBytes, ${maxOutputLength} bytes, and these are ${bytes.byteLength}`);
    },
    decode: (bytes: Uint8Array) => promisify(gunzip)(bytes, { maxOutputLength }),
  });
}
