import { configure, resetConfiguration } from "taskwright";
import { memoryEngine } from "taskwright/queue";
import { engineContract, ManualClock } from "taskwright/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

describe("the memory engine", () => {
  describe("by a clock moved by hand", () => {
    const clock = new ManualClock();
    beforeAll(() => {
      configure((config) => {
        config.clock = clock;
      });
    });
    afterAll(resetConfiguration);

    const engine = memoryEngine();
    engineContract({ describe, it, expect, source: engine, peer: engine, clock });
  });

  describe("in real time", () => {
    const engine = memoryEngine();
    engineContract({ describe, it, expect, source: engine, peer: engine });
  });
});
