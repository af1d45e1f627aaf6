import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";

/** What the program has counted of one kind of run. */
export interface Counted {
  /** Each number of promises that occurred. */
  readonly promises: readonly number[];
  readonly bytes: number;
}

interface Pin {
  readonly promises: number;
  readonly bytes: number;
}

/**
 * What one run makes. Whoever makes the library leaner lowers the numbers, as the failing test says; they are never raised without a
 * reason in the commit.
 */
const PINS: Readonly<Record<string, Pin>> = {
  execute: { promises: 3, bytes: 5_020 },
  "execute, parsed input": { promises: 3, bytes: 5_749 },
  "execute, parsed input, retryOn": { promises: 4, bytes: 6_461 },
  "locked execute": { promises: 5, bytes: 12_221 },
  "idempotent execute, first run": { promises: 5, bytes: 12_329 },
  "idempotent execute, duplicate": { promises: 2, bytes: 8_573 },
  "idempotent execute, replay": { promises: 2, bytes: 11_933 },
  "idempotent execute in a store far away, first run": { promises: 15, bytes: 18_874 },
  "idempotent execute in a store far away, duplicate": { promises: 5, bytes: 10_533 },
};

/** The major versions of Node that were measured: the same promises in all of them, and these bytes in the first. */
const PINNED_ON: readonly number[] = [20, 22, 24];
/** By so much bytes may differ there. From one process to the next they are the same; a minor version of Node may add a few. */
const MARGIN = 0.02;
/** Other versions allocate otherwise (24 down to two thirds), and must not do much worse. */
const MARGIN_ELSEWHERE = 0.25;

/**
 * Counts do not depend on time. Nothing is compiled to optimised code, since when that happens depends on the machine; so runs that are
 * warm take less than the bytes here, and never more. New objects have 16 MiB, so nothing is collected while bytes are counted.
 */
const FLAGS = ["--expose-gc", "--no-opt", "--single-threaded", "--predictable", "--min-semi-space-size=16", "--max-semi-space-size=16"];
const PROGRAM = fileURLToPath(new URL("programs/allocation.mjs", import.meta.url));

const major = Number(process.versions.node.split(".")[0]);
let counted: Readonly<Record<string, Counted>>;

beforeAll(async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [...FLAGS, PROGRAM]);
  counted = JSON.parse(stdout) as Record<string, Counted>; // as the program prints it
}, 60_000);

function countedOf(kind: string): Counted {
  const found = counted[kind];
  if (found === undefined) throw new Error(`The program counts no run called "${kind}".`);
  return found;
}

/** What to do about a number that is not the pinned one. */
function advice(kind: string, what: keyof Pin, now: number, pinned: number): string {
  const found = `${kind}: ${now} ${what} for each run on Node ${process.version}, and ${pinned} are pinned in test/package/allocation.test.ts.`;
  return now < pinned ? `${found} That is fewer: lower the pin to ${now}.` : `${found} Find out what is made in addition, and why.`;
}

test("each kind of run that is counted is pinned", () => {
  expect(Object.keys(counted)).toEqual(Object.keys(PINS));
});

describe.each(Object.entries(PINS))("%s", (kind, pin) => {
  test(`makes ${pin.promises} promises`, () => {
    const { promises } = countedOf(kind);
    expect(promises, `${kind}: every run makes as many promises as any other`).toHaveLength(1);
    const [made = 0] = promises;
    expect(made, advice(kind, "promises", made, pin.promises)).toBeLessThanOrEqual(pin.promises);
    expect(made, advice(kind, "promises", made, pin.promises)).toBeGreaterThanOrEqual(PINNED_ON.includes(major) ? pin.promises : 0);
  });

  test(`allocates about ${pin.bytes} bytes`, () => {
    const { bytes } = countedOf(kind);
    const isMeasured = major === PINNED_ON[0];
    const [most, least] = isMeasured ? [1 + MARGIN, 1 - MARGIN] : [1 + MARGIN_ELSEWHERE, 0];
    expect(bytes, advice(kind, "bytes", bytes, pin.bytes)).toBeLessThanOrEqual(pin.bytes * most);
    expect(bytes, advice(kind, "bytes", bytes, pin.bytes)).toBeGreaterThanOrEqual(pin.bytes * least);
  });
});
