import { checkEnd } from "./endings.js";
import type { Violation } from "./invariants.js";
import type { Library } from "./library.js";
import { movesOf, take } from "./moves.js";
import { Program } from "./program.js";
import type { Bounds, Scenario } from "./scenario.js";
import { World } from "./world.js";

/** What a search has gone through. */
export interface Search {
  readonly scenario: string;
  readonly bounds: Bounds;
  /** Different schedules up to the stated depth. */
  readonly schedules: number;
  /** Different states of the whole; schedules that meet in one go on alike and are followed once. */
  readonly states: number;
  /** How often the code was run from the start. */
  readonly executions: number;
  readonly violation: Violation | undefined;
}

/** After so many steps beyond the depth, a schedule that goes its shortest way is taken to hang. */
const LONGEST_END = 120;

/**
 * Goes through every schedule of a scenario up to a depth, by depth-first search over what can happen next. Code cannot be set
 * back to an earlier state, so each branch is run anew from the start; what a process does depends only on what has happened to
 * it, so it comes to the same state again.
 */
export class Explorer {
  readonly #scenario: Scenario;
  readonly #programs: readonly Program[];
  readonly #bounds: Bounds;
  /** How many schedules lead on from a state, for the states that were met. */
  readonly #known = new Map<number, number>();
  #executions = 0;
  #violation: Violation | undefined;

  /** @param libraries A copy for each process, and maybe more. */
  constructor(scenario: Scenario, bounds: Bounds, libraries: readonly Library[]) {
    this.#scenario = scenario;
    this.#bounds = bounds;
    const count = Math.max(...scenario.callers.map(({ process }, at) => process ?? at)) + 1;
    if (libraries.length < count) throw new Error(`${scenario.name} needs ${count} copies of the library`);
    this.#programs = libraries.slice(0, count).map((library) => new Program(library, scenario));
  }

  /** Searches until all is seen or an invariant does not hold. */
  async search(): Promise<Search> {
    const schedules = await this.#visit(await this.#at([]), []);
    return {
      scenario: this.#scenario.name,
      bounds: this.#bounds,
      schedules,
      states: this.#known.size,
      executions: this.#executions,
      violation: this.#violation,
    };
  }

  /** Runs the schedule that these choices make. */
  async #at(path: readonly number[]): Promise<World> {
    this.#executions += 1;
    if (this.#executions % 64 === 0) await turn();
    const world = new World(this.#scenario, this.#programs);
    for (const choice of path) await this.#choose(world, choice);
    return world;
  }

  async #choose(world: World, choice: number): Promise<void> {
    const chosen = movesOf(world, this.#bounds.faults - world.faults)[choice];
    if (chosen === undefined) throw new Error(`a schedule went another way when it was repeated: ${world.steps.join("; ")}`);
    await take(world, chosen);
  }

  /** Follows everything that can happen from here, and tells how many schedules that makes. */
  async #visit(world: World, path: readonly number[]): Promise<number> {
    if (world.ledger.violation !== undefined) return this.#stop(world);
    const key = world.key();
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    let schedules = 1;
    if (world.finished || path.length >= this.#bounds.depth) await this.#end(world);
    else schedules = await this.#branch(world, path);
    this.#known.set(key, schedules);
    return schedules;
  }

  async #branch(world: World, path: readonly number[]): Promise<number> {
    const { length } = movesOf(world, this.#bounds.faults - world.faults);
    if (length === 0) return this.#end(world);
    let schedules = 0;
    for (let choice = 0; choice < length && this.#violation === undefined; choice += 1) {
      const next = choice === 0 ? world : await this.#at(path);
      await this.#choose(next, choice);
      schedules += await this.#visit(next, [...path, choice]);
    }
    return schedules;
  }

  /** Beyond the depth nothing goes wrong any more, and everybody must come to an end. */
  async #end(world: World): Promise<number> {
    for (let step = 0; step < LONGEST_END && !world.finished; step += 1) {
      const [next] = movesOf(world, 0)
        .filter(({ rank }) => rank < Number.POSITIVE_INFINITY)
        .toSorted((a, b) => a.rank - b.rank);
      if (next === undefined) break;
      await take(world, next);
    }
    checkEnd(world);
    return this.#stop(world);
  }

  #stop(world: World): number {
    this.#violation ??= world.ledger.violation;
    return 1;
  }
}

/** A turn of the event loop, so that a long search keeps nobody waiting. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
