import { describe, expect, it } from "vitest";
import { MemoryStore } from "taskwright";
import { ManualClock, storeContract } from "taskwright/testing";

const clock = new ManualClock();

storeContract({
  name: "MemoryStore, by a clock moved by hand",
  describe,
  it,
  expect,
  counts: true,
  clock,
  createStore: () => new MemoryStore({ clock, sweepEveryMs: 86_400_000 }),
});

storeContract({ name: "MemoryStore, in real time", describe, it, expect, counts: true, createStore: () => new MemoryStore() });

storeContract({
  name: "MemoryStore, swept all the time",
  describe,
  it,
  expect,
  counts: true,
  createStore: () => new MemoryStore({ sweepEveryMs: 1 }),
});
