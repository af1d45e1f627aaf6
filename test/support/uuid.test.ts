import * as fc from "fast-check";
import { expect, test } from "vitest";
import { uuidv7 } from "../../src/support/uuid.js";

const SHAPE = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const timeOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

test("an id is a UUID of version 7 that holds its time", () => {
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 48 - 1 }), (epochMs) => {
      const id = uuidv7(epochMs);

      expect(id).toMatch(SHAPE);
      expect(timeOf(id)).toBe(epochMs);
    }),
  );
});

test.each([0, 1, 2 ** 32 - 1, 2 ** 32, 2 ** 48 - 1, Date.UTC(2026, 0, 1)])("at %d ms, too", (epochMs) => {
  expect(timeOf(uuidv7(epochMs))).toBe(epochMs);
});

test("a hundred thousand ids of one moment are all different", () => {
  const ids = new Set(Array.from({ length: 100_000 }, () => uuidv7(1_767_225_600_000)));

  expect(ids.size).toBe(100_000);
});

test("ids sort by time", () => {
  const ids = [1, 255, 256, 65_536, 2 ** 32, 2 ** 40].map((time) => uuidv7(time));

  expect(ids.toSorted()).toEqual(ids);
});
