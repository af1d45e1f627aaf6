import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { idempotentBy, StoreKey, Task } from "taskwright";
import { segmentText } from "../../src/claims/key.js";
import { readSlot } from "../../src/idempotency/slot.js";
import { canonical } from "../../src/support/canonical.js";
import { toMs } from "../../src/support/duration.js";
import { readSources } from "../support/module-graph.js";
import { swallow } from "../support/builders.js";

/**
 * What the longest of these takes: code whose time grows with the square of its input would take minutes, and never end if it grew faster.
 * The limit is generous, so that it says something about the code and nothing about the machine.
 */
const LIMIT_MS = 5_000;
const LONG = 1_000_000;

describe("texts from outside that are as long as one likes", () => {
  test.each<[string, () => unknown]>([
    ["digits as a duration", () => toMs("ttl", `${"1".repeat(LONG)}x` as "1s")],
    ["digits and a point as a duration", () => toMs("ttl", `${"1.".repeat(LONG)}s` as "1s")],
    ["spaces as a key", () => segmentText(`${" ".repeat(LONG)}x`)],
    ["colons as a key of two parts", () => segmentText([":".repeat(LONG), "%".repeat(LONG)])],
    ["a whole key", () => StoreKey.compose("n", "t", "a".repeat(LONG))],
    ["a slot of spaces", () => readSlot({ value: " ".repeat(LONG), expiresInMs: 1 })],
    ["a slot of braces", () => readSlot({ value: `completed ${"{".repeat(LONG)}`, expiresInMs: 1 })],
    ["a text to be fingerprinted", () => canonical({ text: '"\\'.repeat(LONG / 2) })],
    ["a wide object to be fingerprinted", () => canonical(Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, i])))],
    ["a class name", () => Task.with({ name: "a".repeat(LONG) })],
    ["the name of a field", () => idempotentBy("a".repeat(LONG))],
  ])("%s cost no more than they are long", (_name, body) => {
    const before = performance.now();
    swallow(body);
    expect(performance.now() - before).toBeLessThan(LIMIT_MS);
  });
});

test("no pattern in the sources repeats what is itself repeated", () => {
  const nested = /\([^()]*[+*][^()]*\)[+*{]/;
  const found = [...readSources("src")].flatMap(([path, text]) =>
    [...text.matchAll(/(?<![/*])\/(?![/*])((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)\/[dgimsuvy]*(?=[.,;)\s])/g)]
      .map(([, pattern = ""]) => pattern)
      .filter((pattern) => nested.test(pattern))
      .map((pattern) => `${path}: ${pattern}`),
  );
  expect(nested.test(String.raw`(a+)+`)).toBe(true);
  expect(found).toEqual([]);
  expect(readFileSync("src/support/duration.ts", "utf8")).toContain("Linear"); // the one that callers feed says why it is
});
