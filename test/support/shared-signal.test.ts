import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { PausePoint, taskOf, warningsOf } from "./builders.js";

test("a signal that a hundred runs share has one listener, which goes with the last of them", async () => {
  const { signal } = new AbortController();
  const pause = new PausePoint();
  const Sample = taskOf(() => pause.pass());

  const warnings = await warningsOf(async () => {
    const runs = Array.from({ length: 100 }, () => Sample.execute({}, { signal }));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    pause.resume();
    await Promise.all(runs);
  });

  expect(warnings).toEqual([]);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("all runs that share a signal are called off by it, also those that come after others have gone", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const pause = new PausePoint();
  const [Quick, Slow] = [taskOf(() => "done"), taskOf(() => pause.pass())];

  await Quick.execute({}, { signal });
  const runs = [Slow.execute({}, { signal }), Slow.execute({}, { signal })];
  controller.abort(new Error("closing time"));

  for (const result of await Promise.all(runs)) expect(result).toMatchObject({ metadata: { code: "aborted" } });
  expect(await Slow.execute({}, { signal })).toMatchObject({ metadata: { code: "aborted" } });
  pause.resume();
});
