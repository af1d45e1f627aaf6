import type { StoreEntry } from "../stores/store.js";

/**
 * What a slot says. In the store it is one word, `processing` or `completed`, and where there is more to say, one space and a JSON
 * object. Other readers, a Ruby process on the same Redis among them, take the first word and need not know the rest.
 */
export type Slot = ProcessingSlot | CompletedSlot;

export interface ProcessingSlot {
  readonly state: "processing";
  readonly details: SlotDetails;
}
export interface CompletedSlot {
  readonly state: "completed";
  readonly details: SlotDetails & { readonly output?: string | undefined };
}
export interface SlotDetails {
  /** The run that wrote the slot. */
  readonly run?: string | undefined;
  readonly fingerprint?: string | undefined;
}

const NO_DETAILS = Object.freeze({});

/** The text of a slot; plain where there is nothing to say beyond the state. */
export function writeSlot({ state, details }: Slot): string {
  const { fingerprint } = details;
  const output = "output" in details ? details.output : undefined;
  return fingerprint === undefined && output === undefined
    ? state
    : `${state} ${JSON.stringify({ run: details.run, fingerprint, output })}`;
}

/** Whatever stands in a slot holds it. A word that is neither of ours was written by somebody else, when they were done. */
export function readSlot({ value }: StoreEntry): Slot {
  const space = value.indexOf(" ");
  const word = space < 0 ? value : value.slice(0, space);
  const details = space < 0 ? NO_DETAILS : readDetails(value.slice(space + 1));
  return word === "processing" ? { state: "processing", details } : { state: "completed", details };
}

function readDetails(json: string): CompletedSlot["details"] {
  try {
    const parsed: unknown = JSON.parse(json);
    if (typeof parsed !== "object" || parsed === null) return NO_DETAILS;
    const text = (key: string): string | undefined => {
      const value: unknown = Object.hasOwn(parsed, key) ? Reflect.get(parsed, key) : undefined;
      return typeof value === "string" ? value : undefined;
    };
    const [run, fingerprint, output] = [text("run"), text("fingerprint"), text("output")];
    return {
      ...(run !== undefined && { run }),
      ...(fingerprint !== undefined && { fingerprint }),
      ...(output !== undefined && { output }),
    };
  } catch {
    return NO_DETAILS; // somebody else's words after the first: the slot is held all the same
  }
}
