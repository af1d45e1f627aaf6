import type { Answer, Call } from "./calls.js";
import type { Process } from "./process.js";
import { isLock, type Fault } from "./scenario.js";
import { settled, type World } from "./world.js";

/** One thing that can happen next. */
export interface Move {
  /** In words; those for a call are made when somebody wants to read them. */
  readonly label: string | (() => string);
  readonly isFault: boolean;
  /** Where a schedule goes its shortest way to the end, the lowest is taken; `Infinity` never. */
  readonly rank: number;
  take(): void | Promise<void>;
}

const RANKS = { wake: 0, deliver: 1, effect: 2, start: 3, end: 4, timer: 5, expiry: 6, never: Number.POSITIVE_INFINITY };

/** Everything that can happen next, in an order that is always the same. `faults` tells how many more there may be. */
export function movesOf(world: World, faults: number): readonly Move[] {
  const orderly = [...world.calls.flatMap((call) => callMoves(world, call)), ...actorMoves(world), ...wakeMoves(world)];
  const hurried = world.calls.filter((call) => call.answer === undefined && !call.isSlow && call.process.awake);
  if (hurried.length === 0) orderly.push(...timeMoves(world));
  if (faults === 0) return orderly;
  return [...orderly, ...hurried.flatMap((call) => slowMoves(world, call)), ...faultMoves(world)];
}

/** Takes a move, and everything that follows from it at once. */
export async function take(world: World, move: Move): Promise<void> {
  world.steps.push(typeof move.label === "string" ? move.label : move.label());
  if (move.isFault) world.faults += 1;
  await move.take();
  await settled();
  world.ledger.onStep();
}

/** Time passes while a call is on its way only when the call is slow, which is a fault like others. */
function slowMoves(world: World, call: Call): readonly Move[] {
  if (!world.scenario.faults.includes("slow") || !isHit(world, call)) return [];
  const slow = (): void => {
    call.isSlow = true;
  };
  return [{ label: () => `${shown(world, call)}: slow`, isFault: true, rank: RANKS.never, take: slow }];
}

function callMoves(world: World, call: Call): readonly Move[] {
  const { process, answer } = call;
  const label = (what: string) => (): string => `${shown(world, call)}: ${what}`;
  if (answer !== undefined) return process.awake ? [move(label("answered"), RANKS.deliver, () => world.deliver(call))] : [];
  const rank = process.crashed ? RANKS.never : RANKS.effect;
  return [move(label("done"), rank, async () => world.answer(call, { value: await world.carryOut(call) }))];
}

function actorMoves(world: World): readonly Move[] {
  const moves: Move[] = [];
  let unstarted: object | undefined;
  for (const caller of world.callers) {
    if (caller.canStart) {
      // Callers of one kind start in their order: other orders only swap their names.
      const isNext = caller.outer !== undefined || unstarted !== caller.plan;
      if (isNext && caller.process.awake) moves.push(move(`${caller.name} starts`, RANKS.start, () => caller.start()));
      if (caller.outer === undefined) unstarted = caller.plan;
    }
    if (caller.attempt === undefined || !caller.process.awake) continue;
    for (const ending of caller.endings)
      moves.push(move(`${caller.name}'s attempt ends: ${ending}`, RANKS.end, () => caller.endAttempt(ending)));
  }
  for (const actor of world.others) {
    if (actor.state === "waiting" && actor.process.awake) moves.push(move(`${actor.name} comes`, RANKS.start, () => actor.start()));
  }
  return moves;
}

/** Time goes on to the next moment at which something is due, and never past a timer of a process that can run. */
function timeMoves(world: World): readonly Move[] {
  const expiresAt = Math.min(Number.POSITIVE_INFINITY, ...world.slots.map((slot) => slot.expiresAt));
  const awake = world.processes.filter((process) => process.awake && isBusy(world, process));
  const due = Math.min(expiresAt, ...awake.map(({ nextDue }) => nextDue));
  const at = Math.max(world.now, due);
  const moves = awake
    .filter(({ nextDue }) => nextDue <= at && nextDue < Number.POSITIVE_INFINITY)
    .map((process) => move(`${at} ms: a timer of ${process.name}`, RANKS.timer, () => ring(world, process, at)));
  if (expiresAt === at && at < Number.POSITIVE_INFINITY)
    moves.push(move(`${at} ms: a slot's time is up`, RANKS.expiry, () => void (world.now = at)));
  return moves;
}

function ring(world: World, process: Process, at: number): void {
  world.now = at;
  process.ring();
}

/** A process that was blocked goes on, once time has passed or when nothing else can make it pass. */
function wakeMoves(world: World): readonly Move[] {
  return world.processes.flatMap((process) => {
    if (!process.blocked || process.crashed) return [];
    const stuck = timeMoves(world).length === 0;
    if (world.now === process.blockedAt && !stuck) return [];
    const rank = world.slots.length === 0 ? RANKS.wake : RANKS.expiry + 1;
    return [
      move(`${process.name} goes on`, rank, () => {
        process.blocked = false;
      }),
    ];
  });
}

function faultMoves(world: World): readonly Move[] {
  const allowed = world.scenario.faults;
  return [
    ...world.calls.flatMap((call) =>
      call.answer === undefined && !call.process.crashed && isHit(world, call) ? callFaults(world, call, allowed) : [],
    ),
    ...world.processes.flatMap((process) => processFaults(world, process, allowed)),
  ];
}

function isHit({ scenario }: World, { operation }: Call): boolean {
  return scenario.hits?.includes(operation) ?? true;
}

function callFaults(world: World, call: Call, allowed: readonly Fault[]): readonly Move[] {
  const broken = (): Answer => ({ error: new Error(`${call.operation} failed`) });
  const done = (): Promise<unknown> => world.carryOut(call);
  const faults: Partial<Record<Fault, () => Promise<void>>> = {
    "fail-before": () => world.answer(call, broken()),
    "fail-after": async () => (await done(), world.answer(call, broken())),
    late: async () => world.answer(call, { value: await done() }, true),
    lost: async () => (await done(), world.forget(call)),
    ...(isLosingClaim(world, call) && { "two-steps": async () => (await done(), world.answer(call, { refused: true }, true)) }),
  };
  return allowed.flatMap((fault) => {
    const strike = faults[fault];
    if (strike === undefined) return [];
    const take = (): Promise<void> => (world.ledger.onFault(call, fault), strike());
    return [{ label: () => `${shown(world, call)}: ${fault}`, isFault: true, rank: RANKS.never, take }];
  });
}

function isLosingClaim(world: World, { operation, owner, key }: Call): boolean {
  const slot = world.slotAt(key);
  return operation === "claim" && slot !== undefined && slot.owner !== owner;
}

function processFaults(world: World, process: Process, allowed: readonly Fault[]): readonly Move[] {
  if (!isBusy(world, process) || process.crashed) return [];
  const strike = (what: string, action: () => void): Move => ({
    label: `${process.name} ${what}`,
    isFault: true,
    rank: RANKS.never,
    take: action,
  });
  return [
    ...(allowed.includes("crash") ? [strike("crashes", () => void (process.crashed = true))] : []),
    ...(allowed.includes("block") && !process.blocked ? [strike("stands still", () => block(world, process))] : []),
  ];
}

/** Is anybody at it there? What timers of a process do that has come to rest is looked at in the end. */
function isBusy({ callers, others, calls }: World, process: Process): boolean {
  return (
    callers.some((caller) => caller.process === process && (caller.state === "running" || caller.attempt !== undefined)) ||
    others.some((actor) => actor.process === process && actor.state === "running") ||
    calls.some((call) => call.process === process)
  );
}

function block(world: World, process: Process): void {
  process.blocked = true;
  process.blockedAt = world.now;
}

function move(label: Move["label"], rank: number, action: Move["take"]): Move {
  return { label, isFault: false, rank, take: action };
}

function shown(world: World, { owner, operation, key, id, process }: Call): string {
  const what = isLock(key) ? `${operation} of the lock` : operation;
  return `${world.callerOf(owner)?.name ?? process.name}'s ${what} (${id})`;
}
