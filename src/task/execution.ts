import { AbortScope } from "../support/abort.js";
import { andThen, promised, type Awaitable } from "../support/and-then.js";
import { runAfter, runBefore } from "./callbacks.js";
import { insidePlace, insideRun } from "./chain.js";
import type { ExecuteOptions, TaskClass } from "./contract.js";
import { noteDeprecation } from "./deprecation.js";
import { logRun } from "./log.js";
import { announce } from "./observers.js";
import { throughLinks } from "./onion.js";
import type { Outcome } from "./outcome.js";
import { parseInput } from "./parse-input.js";
import { planOf } from "./plan.js";
import type { Result } from "./result.js";
import type { Run } from "./run.js";
import { sealResult } from "./seal.js";
import { checkReceiver, startRun, type AttachRun } from "./start.js";
import { outcomeOfThrown } from "./thrown-outcome.js";
import { verified } from "./verify-output.js";

/**
 * One run, from the call to its answer. Read this file from the top: it is the order in which everything happens.
 *
 * @throws {DefinitionError} and nothing else, as a rejection: a programmer's mistake in the task or the call.
 */
export function execute(type: TaskClass, given: unknown, options: ExecuteOptions, attach: AttachRun): Promise<Result> {
  try {
    checkReceiver(type, "execute");
    const run = startRun(planOf(type), given, options, attach);
    return insideRun(run, answer);
  } catch (mistake) {
    return Promise.reject(mistake); // a DefinitionError, as both promise
  }
}

/** What is made of the outcome of a run, in the promise of the step before it. */
type Ending<T> = (run: Run, outcome: Outcome) => T;
const unchanged: Ending<Outcome> = (_run, outcome) => outcome;

function answer(run: Run): Promise<Result> {
  const { middlewares } = run.plan;
  if (middlewares.length === 0) return lifecycle(run, concluded);
  return throughLinks(run, middlewares, () => lifecycle(run, unchanged)).then((outcome) => concluded(run, outcome));
}

/** The result, and whoever is to hear of it. */
function concluded(run: Run, outcome: Outcome): Result {
  run.leaveLateWork();
  const result = sealResult(run, outcome);
  announce(run, "task_executed")?.({ result });
  logRun(run, result);
  if (run.mistake !== undefined) throw run.mistake;
  return result;
}

/** From the start of the task to its last callback. Until the outcome is sealed, whatever throws or halts decides it. */
function lifecycle<T>(run: Run, ending: Ending<T>): Promise<T> {
  announce(run, "task_started")?.({});
  // In a promise also where it is known at once: no run is over, and told to be, before its caller has got the promise of its result.
  return promised(() => run.halt ?? noteDeprecation(run) ?? beforehand(run)).then(
    (outcome) => sealed(run, outcome, ending),
    (thrown: unknown) => sealed(run, outcomeOfThrown(run, thrown), ending),
  );
}

function beforehand(run: Run): Awaitable<Outcome> {
  const { callbacks } = run.plan;
  if (!callbacks.beforehand) return around(run);
  return beforeCallbacks(run).then((decided) => decided ?? around(run));
}

async function beforeCallbacks(run: Run): Promise<Outcome | undefined> {
  const { callbacks } = run.plan;
  return (await runBefore(run, callbacks.before_execution)) ?? (await runBefore(run, callbacks.before_validation));
}

function around(run: Run): Awaitable<Outcome> {
  return throughLinks(run, run.plan.callbacks.around_execution, protectedWork);
}

/** Parses the input, and hands over to the layers: rate limit, breaker, lock, claim, rollback, verification, retry, timeout, `work`. */
function protectedWork(run: Run): Awaitable<Outcome> {
  return run.halt ?? andThen(parseInput(run), (refused) => refused ?? run.plan.layers(run));
}

/** Nothing changes the outcome any more; the callbacks that come after it hear what it is. */
function sealed<T>(run: Run, decided: Outcome, ending: Ending<T>): Awaitable<T> {
  return andThen(verified(run, decided), (judged) => {
    const outcome = run.seal(judged);
    return run.plan.callbacks.afterwards ? afterwards(run, outcome).then(() => ending(run, outcome)) : ending(run, outcome);
  });
}

/** What has called the run off is over: its callbacks may run tasks. */
function afterwards(run: Run, outcome: Outcome): Promise<void> {
  if (!run.scope.aborted) return completionCallbacks(run, outcome);
  return insidePlace(run, new AbortScope(), () => completionCallbacks(run, outcome));
}

async function completionCallbacks(run: Run, outcome: Outcome): Promise<void> {
  const { callbacks } = run.plan;
  await runAfter(run, callbacks.after_execution, outcome);
  await runAfter(run, outcome.status === "success" ? callbacks.on_complete : callbacks.on_interrupted, outcome);
  await runAfter(run, callbacks[`on_${outcome.status}`], outcome);
  if (outcome.status !== "failed") await runAfter(run, callbacks.on_ok, outcome);
  if (outcome.status !== "success") await runAfter(run, callbacks.on_ko, outcome);
}
