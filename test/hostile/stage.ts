import { configure, MemoryStore, resetConfiguration, resume } from "taskwright";
import { ChaosStore } from "taskwright/testing";
import { afterEach, beforeEach } from "vitest";
import { useManualClock } from "../support/builders.js";
import type { ManualClock } from "../support/manual-clock.js";

/** What a test stands on: a clock that stands still, and a store that can be disturbed. New for every test. */
export interface Stage {
  readonly clock: ManualClock;
  /** The store itself, as another process sees it. */
  readonly memory: MemoryStore;
  /** What tasks use. */
  readonly store: ChaosStore;
}

/** Sets the stage before each test of the file, and clears it after. */
export function useStage(): Stage {
  let current: Stage | undefined;
  const at = (): Stage => {
    if (current === undefined) throw new Error("the stage is set once a test runs");
    return current;
  };
  beforeEach(() => {
    resetConfiguration();
    const clock = useManualClock();
    const memory = new MemoryStore({ clock });
    const store = new ChaosStore(memory);
    configure((config) => {
      config.store = store;
    });
    current = { clock, memory, store };
  });
  afterEach(() => {
    at().store.calm();
    resetConfiguration();
    resume();
  });
  return {
    get clock() {
      return at().clock;
    },
    get memory() {
      return at().memory;
    },
    get store() {
      return at().store;
    },
  };
}
