import { describe, expect, it } from "vitest";
import { ManualClock, storeContract } from "taskwright/testing";
import { MemoryStore } from "../../src/stores/memory.js";

const clock = new ManualClock();

storeContract({
  name: "MemoryStore, by a clock moved by hand",
  describe,
  it,
  expect,
  clock,
  createStore: () => new MemoryStore({ clock }),
});

storeContract({ name: "MemoryStore, in real time", describe, it, expect, createStore: () => new MemoryStore() });

storeContract({ name: "MemoryStore, swept all the time", describe, it, expect, createStore: () => new MemoryStore({ sweepEveryMs: 1 }) });
