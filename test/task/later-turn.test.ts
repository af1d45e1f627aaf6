import { describe, expect, test } from "vitest";
import { callback, configure, idempotentBy, literal, Task, type Result } from "taskwright";

/** A task whose work has nothing to wait for. */
class AtOnce extends Task.with({ name: "AtOnce" }) {
  work(): object {
    return {};
  }
}

describe("a run that has nothing to wait for", () => {
  test("is over, and told to be, only after its caller has got the promise", async () => {
    const told: string[] = [];
    configure((config) => {
      config.telemetry.subscribe("task_started", () => told.push("started"));
      config.telemetry.subscribe("task_executed", () => told.push("executed"));
    });
    class Called extends AtOnce {}
    callback("on_success", () => told.push("callback"))(Called);

    const result = Called.execute();
    told.push("promise");
    await result;

    expect(told).toEqual(["started", "promise", "callback", "executed"]);
  });

  test("may start itself once more when it is told to be over, since the first one is known by then", async () => {
    let second: Promise<Result> | undefined;
    configure((config) => {
      config.telemetry.subscribe("task_executed", () => {
        second ??= AtOnce.execute();
      });
    });

    const first = await AtOnce.execute();

    expect((await second)?.chainId).toBe(first.chainId);
  });

  test("is over in a later turn also as a duplicate, whose store has answered at once", async () => {
    class Once extends AtOnce {}
    idempotentBy(literal("once"), { ttl: 60 })(Once);
    await Once.execute();
    const told: string[] = [];
    configure((config) => {
      config.telemetry.subscribe("task_executed", () => told.push("executed"));
    });

    const duplicate = Once.execute();
    told.push("promise");

    expect((await duplicate).status).toBe("skipped");
    expect(told).toEqual(["promise", "executed"]);
  });
});
