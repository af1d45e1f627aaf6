import type { Caller } from "./caller.js";
import type { Invariant } from "./ledger.js";
import { Declined } from "./program.js";
import type { World } from "./world.js";

/** What must be so once everybody has come to an end. */
export function checkEnd(world: World): void {
  const fail = (invariant: Invariant, detail: string): void => world.ledger.fail(invariant, detail);
  for (const caller of world.callers) {
    if (caller.process.crashed) continue;
    const wrong = wrongEnd(caller) ?? wrongAnswer(world, caller);
    if (wrong !== undefined) fail(wrong.invariant, `${caller.name} ${wrong.detail}`);
  }
  for (const actor of world.others) {
    if (actor.state !== "ended" && !actor.process.crashed) fail("every caller ends", `${actor.name} never comes to an end`);
  }
  checkTimers(world);
  checkSlot(world);
}

interface Wrong {
  readonly invariant: Invariant;
  readonly detail: string;
}

/** A run, a duplicate or an error of a known kind: nothing else, and no rejection. */
function wrongEnd({ state, rejection, result }: Caller): Wrong | undefined {
  const invariant = "every caller ends";
  if (state !== "ended") return { invariant, detail: "never comes to an end" };
  if (result === undefined) return { invariant, detail: `was rejected with ${String(rejection)}` };
  if (result.status !== "failed" || result.error instanceof Declined) return undefined;
  const known = ["duplicate", "store_unavailable", "aborted", "fingerprint_mismatch"];
  return known.includes(result.metadata.code ?? "") ? undefined : { invariant, detail: `failed with ${String(result.error)}` };
}

function wrongAnswer(world: World, caller: Caller): Wrong | undefined {
  const { result, attempts, name, ending, wasRobbed } = caller;
  if (result === undefined) return undefined;
  const { code } = result.metadata;
  const untrue = (detail: string): Wrong => ({ invariant: "the answer is true", detail });
  if (code === "duplicate" || code === "fingerprint_mismatch" || code === "store_unavailable") {
    if (attempts > 0) return untrue(`worked ${attempts} times and says ${code}`);
    // What a claim was granted too late for anybody to hear of it is given back: a change, but of a free slot, and undone.
    const punctual = world.faults === 0 && !world.ledger.overtaken.has(name);
    if (code !== "store_unavailable" && punctual && world.ledger.changed.has(name))
      return { invariant: "a duplicate changes nothing", detail: "changed the slot and was turned away" };
    return result.status === "success" ? wrongReplay(world, result.output) : undefined;
  }
  if (result.status !== "success") return undefined;
  if (ending !== "success") return untrue("says success, and its work did not end so");
  const recorded = world.ledger.recorded(caller);
  if (result.metadata["superseded"] === true)
    return world.ledger.recorded(caller, caller.endedAt) ? untrue("says superseded, and its success is in the slot") : undefined;
  // Freed in its own name, it finds a completion that names no run, and has to take it for its own.
  return recorded || wasRobbed || caller.storeErrors.has("complete") ? undefined : untrue("says success, and the slot was never told");
}

function wrongReplay({ ledger }: World, output: unknown): Wrong | undefined {
  const by: unknown = typeof output === "object" && output !== null && "by" in output ? output.by : undefined;
  const known = ledger.successes.some(({ run }) => run === by);
  return known ? undefined : { invariant: "the answer is true", detail: `was given ${JSON.stringify(output)}, which nobody has recorded` };
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

/** Without a fault the slot is free again, or remembers a success. */
function checkSlot({ slot, faults, ledger }: World): void {
  if (faults > 0) return;
  if (slot?.owner !== undefined) ledger.fail("no slot is left behind without a fault", "somebody still holds it");
}
