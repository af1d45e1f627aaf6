import { DefinitionError } from "../errors.js";
import { describe } from "../support/check.js";

/** One part of a segment. Blank parts (null, undefined, a text of spaces) make the whole segment blank. */
export type KeyPart = string | number | bigint | null | undefined;
/** What a resolver gives: one part, or several that together tell one thing from another. */
export type Segment = KeyPart | readonly KeyPart[];

/** Keys of the store: `namespace:task:segment`. */
export const StoreKey: {
  /** @throws {DefinitionError} when a part is empty. */
  compose(namespace: string, taskName: string, segment: string): string;
} = {
  compose(namespace, taskName, segment) {
    return `${given("namespace", namespace)}:${given("taskName", taskName)}:${given("segment", segment)}`;
  },
};

function given(part: string, text: unknown): string {
  if (typeof text === "string" && text !== "") return text;
  throw new DefinitionError(`A store key needs its ${part}, got ${describe(text)}.`);
}

/**
 * A segment as the text that goes into the key; undefined when it is blank. A single part stays as it is. Of several parts,
 * `%` and `:` are percent-encoded in each, so that two different tuples never meet.
 *
 * @throws {DefinitionError} when a part cannot tell one thing from another: an object, NaN, a symbol, broken Unicode.
 */
export function segmentText(segment: unknown): string | undefined {
  if (!Array.isArray(segment)) return partText(segment);
  const parts = segment.map(partText);
  return parts.length === 0 || parts.includes(undefined) ? undefined : parts.map((part) => encode(part ?? "")).join(":");
}

function partText(part: unknown): string | undefined {
  switch (typeof part) {
    case "undefined":
      return undefined;
    case "bigint":
      return part.toString();
    case "number":
      if (Number.isFinite(part)) return String(part);
      break;
    case "string":
      if (part.trim() === "") return undefined;
      if (part.isWellFormed()) return part;
      throw new DefinitionError(
        "A key holds half a surrogate pair, which stores cannot tell from others of its kind. Hash or encode the text first.",
      );
    default:
      if (part === null) return undefined;
  }
  throw new DefinitionError(
    `A key is made of texts, numbers and bigints, got ${describe(part)}. Pick the fields that tell one request from another, for example ["tenantId", "requestId"].`,
  );
}

function encode(part: string): string {
  return part.replaceAll("%", "%25").replaceAll(":", "%3A");
}
