/**
 * How an entry stands in Redis: exactly its value, and while somebody holds it, ` owner=<token>` behind. So `completed` is the
 * text `completed` and nothing else, and the first word is the state for every reader, in any language.
 */

const MARK = " owner=";

/** Takes what Redis has apart. What other programs wrote has no mark and is all value. */
export function parseRaw(raw: string): { readonly value: string; readonly owner?: string } {
  const at = raw.lastIndexOf(MARK);
  if (at === -1) return { value: raw };
  const owner = raw.slice(at + MARK.length);
  if (owner.includes(" ")) return { value: raw }; // no token: the words of a value that happen to look like the mark
  const value = raw.slice(0, at);
  return owner === "" ? { value } : { value, owner };
}

/** A value as Redis keeps it. One that nobody holds but that would read as held gets a mark without a token. */
export function rawOf(value: string, owner?: string): string {
  if (owner !== undefined) return value + MARK + owner;
  return parseRaw(value).value === value ? value : value + MARK;
}
