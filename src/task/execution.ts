import { runAfter, runBefore } from "./callbacks.js";
import { insideRun } from "./chain.js";
import type { TaskClass, ExecuteOptions } from "./contract.js";
import { noteDeprecation } from "./deprecation.js";
import { logRun } from "./log.js";
import { announce } from "./observers.js";
import { throughLinks } from "./onion.js";
import type { Outcome } from "./outcome.js";
import { planOf } from "./plan.js";
import type { Result } from "./result.js";
import type { Run } from "./run.js";
import { parseInput } from "./parse-input.js";
import { sealResult } from "./seal.js";
import { startRun, type AttachRun } from "./start.js";
import { outcomeOfThrown } from "./thrown-outcome.js";

/**
 * One run, from the call to its answer. Read this file from the top: it is the order in which everything happens.
 *
 * @throws {DefinitionError} and nothing else: a programmer's mistake in the task or the call.
 */
export async function execute(type: TaskClass, given: unknown, options: ExecuteOptions, attach: AttachRun): Promise<Result> {
  const run = startRun(planOf(type), given, options, attach);
  const result = await insideRun(run, answer);
  if (run.mistake !== undefined) throw run.mistake;
  return result;
}

async function answer(run: Run): Promise<Result> {
  const outcome = await throughLinks(run, run.plan.middlewares, lifecycle);
  const result = sealResult(run, outcome);
  announce(run, "task_executed")?.({ result });
  logRun(run, result);
  return result;
}

async function lifecycle(run: Run): Promise<Outcome> {
  announce(run, "task_started")?.({});
  const outcome = run.seal(await decide(run));
  await completionCallbacks(run, outcome);
  return outcome;
}

/** Until the outcome stands, whatever throws or halts decides it. */
async function decide(run: Run): Promise<Outcome> {
  const { callbacks } = run.plan;
  try {
    const turnedAway = run.halt ?? noteDeprecation(run);
    if (turnedAway !== undefined) return turnedAway;
    await runBefore(run, callbacks.before_execution);
    await runBefore(run, callbacks.before_validation);
    return await throughLinks(run, callbacks.around_execution, execution);
  } catch (thrown) {
    return outcomeOfThrown(run, thrown);
  }
}

async function execution(run: Run): Promise<Outcome> {
  try {
    const turnedAway = run.halt ?? (await parseInput(run));
    return run.seal(turnedAway ?? (await run.plan.layers(run)));
  } catch (thrown) {
    return outcomeOfThrown(run, thrown);
  }
}

async function completionCallbacks(run: Run, outcome: Outcome): Promise<void> {
  const { callbacks } = run.plan;
  await runAfter(run, callbacks.after_execution, outcome);
  await runAfter(run, outcome.status === "success" ? callbacks.on_complete : callbacks.on_interrupted, outcome);
  await runAfter(run, callbacks[`on_${outcome.status}`], outcome);
  if (outcome.status !== "failed") await runAfter(run, callbacks.on_ok, outcome);
  if (outcome.status !== "success") await runAfter(run, callbacks.on_ko, outcome);
}
