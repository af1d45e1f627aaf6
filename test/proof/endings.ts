import type { Caller } from "./caller.js";
import type { Invariant } from "./invariants.js";
import { Declined } from "./program.js";
import { isLock } from "./scenario.js";
import type { World } from "./world.js";

/** What must be so once everybody has come to an end. */
export function checkEnd(world: World): void {
  const fail = (invariant: Invariant, detail: string): void => world.ledger.fail(invariant, detail);
  for (const caller of world.callers) {
    const neverMade = caller.outer !== undefined && caller.state === "waiting"; // the work that would have made it was stopped
    if (caller.process.crashed || neverMade) continue;
    const wrong = wrongEnd(caller) ?? wrongAnswer(world, caller);
    if (wrong !== undefined) fail(wrong.invariant, `${caller.name} ${wrong.detail}`);
  }
  for (const actor of world.others) {
    if (actor.state !== "ended" && !actor.process.crashed) fail("every caller ends", `${actor.name} never comes to an end`);
  }
  checkKept(world);
  checkTimers(world);
  if (world.faults === 0 && world.slots.some(({ owner }) => owner !== undefined))
    fail("no slot is left behind without a fault", "somebody still holds it");
}

interface Wrong {
  readonly invariant: Invariant;
  readonly detail: string;
}

function untrue(detail: string): Wrong {
  return { invariant: "the answer is true", detail };
}

/** A run, a duplicate or an error of a known kind: nothing else, and no rejection. */
function wrongEnd({ state, rejection, result }: Caller): Wrong | undefined {
  const invariant = "every caller ends";
  if (state !== "ended") return { invariant, detail: "never comes to an end" };
  if (result === undefined) return { invariant, detail: `was rejected with ${String(rejection)}` };
  if (result.status !== "failed" || result.error instanceof Declined) return undefined;
  const known = ["duplicate", "locked", "store_unavailable", "aborted", "fingerprint_mismatch"];
  return known.includes(result.metadata.code ?? "") ? undefined : { invariant, detail: `failed with ${String(result.error)}` };
}

function wrongAnswer(world: World, caller: Caller): Wrong | undefined {
  const { result, attempts, ending } = caller;
  if (result === undefined) return undefined;
  const { code } = result.metadata;
  if (code === "duplicate" || code === "fingerprint_mismatch" || code === "store_unavailable" || code === "locked") {
    if (attempts > 0) return untrue(`worked ${attempts} times and says ${code}`);
    return wrongRefusal(world, caller, code);
  }
  if (result.status !== "success") return undefined;
  return ending === "success" ? wrongSuccess(world, caller) : untrue("says success, and its work did not end so");
}

/** Turned away: by a key that another held, which it has not touched. */
function wrongRefusal(world: World, caller: Caller, code: string): Wrong | undefined {
  const { result, name, keys } = caller;
  const named: unknown = result?.metadata["lockKey"] ?? result?.metadata["idempotencyKey"];
  const key = keys.find((candidate) => candidate === named && isLock(candidate) === "lockKey" in (result?.metadata ?? {}));
  if (key === undefined) return untrue(`was turned away by ${String(named)}, which is no key of it`);
  const book = world.ledger.book(key);
  // What a claim was granted too late for anybody to hear of it is given back: a change, but of a free slot, and undone.
  const punctual = world.faults === 0 && !book.overtaken.has(name);
  if (code !== "store_unavailable" && punctual && book.changed.has(name))
    return { invariant: "a duplicate changes nothing", detail: "changed the slot and was turned away" };
  if (code === "locked") return wrongLocked(world, caller, key);
  return result?.status === "success" ? wrongReplay(world, key, result.output) : undefined;
}

/** Who is told that a lock is held was told so by the store, and not before it had waited as long as it was to. */
function wrongLocked({ scenario, callers }: World, caller: Caller, key: string): Wrong | undefined {
  const { asked, outer, result, startedAt, endedAt, task } = caller;
  const refusal = asked.refusal(key);
  const holder: unknown = result?.metadata["heldBy"];
  if (!isLock(key)) return untrue("says locked of a key that is no lock");
  if (refusal === undefined || refusal.by !== holder) return untrue(`says locked by ${String(holder)}, and was not told so`);
  if (!callers.some(({ runId }) => runId === holder)) return untrue("says locked, and nobody is named");
  const waitMs = (scenario.tasks[task]?.lock?.wait ?? 0) * 1_000;
  if (outer?.runId === holder || endedAt >= startedAt + waitMs) return undefined;
  return untrue(`says locked after ${endedAt - startedAt} of ${waitMs} ms`);
}

function wrongSuccess({ ledger }: World, caller: Caller): Wrong | undefined {
  const { result, name, endedAt, wasRobbed, storeErrors, bare } = caller;
  const superseded = result?.metadata["superseded"] === true;
  const slot = caller.keys.find((key) => !isLock(key));
  if (slot === undefined || bare.includes(slot)) {
    if (slot !== undefined && ledger.book(slot).hasRecorded(name)) return untrue("worked without a claim, and its success is in the slot");
    return superseded ? untrue("says superseded, and it held no slot") : undefined;
  }
  const book = ledger.book(slot);
  if (superseded) return book.hasRecorded(name, endedAt) ? untrue("says superseded, and its success is in the slot") : undefined;
  // Freed in its own name, it finds a completion that names no run, and has to take it for its own.
  return book.hasRecorded(name) || wasRobbed || storeErrors.has("complete")
    ? undefined
    : untrue("says success, and the slot was never told");
}

function wrongReplay({ ledger }: World, key: string, output: unknown): Wrong | undefined {
  const by: unknown = typeof output === "object" && output !== null && "by" in output ? output.by : undefined;
  const known = ledger.book(key).successes.some(({ run }) => run === by);
  return known ? undefined : untrue(`was given ${JSON.stringify(output)}, which nobody has recorded`);
}

/** Whoever has come to its end holds a key only where a fault has kept it from letting go. */
function checkKept(world: World): void {
  const { ledger, slots } = world;
  for (const { key, owner } of slots) {
    const holder = world.callerOf(owner);
    if (holder === undefined || holder.process.crashed || ledger.book(key).excused.has(holder.name)) continue;
    ledger.fail("nothing is kept without a reason", `${holder.name} has ended and holds ${key}`);
  }
}

/** Nothing goes on in the background that would keep a slot. */
function checkTimers(world: World): void {
  for (const process of world.processes) {
    if (!process.awake) continue;
    for (let rung = 0; rung < 5 && process.nextDue < Number.POSITIVE_INFINITY; rung += 1) {
      world.now = Math.max(world.now, process.nextDue);
      process.ring();
    }
    if (world.calls.some((call) => call.process === process))
      world.ledger.fail("a run that has ended renews nothing", `${process.name} still calls the store`);
  }
}
