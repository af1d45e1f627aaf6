import { expect, test } from "vitest";
import { Task } from "taskwright";
import { deferred, taskOf } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";

test("a run that is called off while its work runs synchronously is answered, though the work never ends", async () => {
  const controller = new AbortController();
  const never = deferred();
  class Sample extends Task.with() {
    work(): Promise<void> {
      controller.abort(new Error("closing time"));
      return never.promise;
    }
  }

  const answered = await Promise.race([
    Sample.execute({}, { signal: controller.signal }),
    settle()
      .then(settle)
      .then(() => "no answer"),
  ]);

  expect(answered).toMatchObject({ status: "failed", metadata: { code: "aborted" } });
});

test("a nested run that calls off the run around it is answered, though its work never ends", async () => {
  const controller = new AbortController();
  const never = deferred();
  const Outer = taskOf(() =>
    taskOf(() => {
      controller.abort();
      return never.promise;
    }).execute(),
  );

  const answered = await Promise.race([
    Outer.execute({}, { signal: controller.signal }),
    settle()
      .then(settle)
      .then(() => "no answer"),
  ]);

  expect(answered).toMatchObject({ status: "failed", metadata: { code: "aborted" } });
});
