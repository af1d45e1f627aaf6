import { setImmediate } from "node:timers";
import { isCluster, type RedisClient } from "./client.js";
import { evaluate, isRefusal } from "./evaluate.js";
import { isOneServer } from "./one-server.js";
import type { StepName } from "./script.js";

/** One step on one key, and who waits for its answer. */
interface Step {
  readonly key: string;
  readonly name: StepName;
  readonly value: string;
  readonly life: number | "";
  readonly owner: string;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Steps in one call. Few enough that the server answers others in between, and that the client reads the answers of one call
 * while the server works on the next; many enough that the cost of a call is shared.
 */
const MOST_IN_A_CALL = 32;
/** So many steps in one turn of the event loop make it worth while to find out whether they may go together. */
const BURST = 8;

/**
 * Takes steps on a server, each in one round trip. The first of a turn of the event loop goes at once. Those that follow in the
 * same turn go together at its end, many in a call, which costs both sides much less than a call for each; but only to what has
 * proved to be one server. Otherwise every step goes alone.
 */
export class Steps {
  readonly #client: RedisClient;
  /** May a call have several keys? Undefined while nobody has needed to know. */
  #together: boolean | undefined;
  /** How many steps this turn has seen. */
  #inTurn = 0;
  #waiting: Step[] = [];

  constructor(client: RedisClient) {
    this.#client = client;
    if (isCluster(client)) this.#together = false;
  }

  /** @param read What the answer means to the caller. */
  take<Answer>(
    read: (answer: unknown) => Answer,
    key: string,
    name: StepName,
    value: string = "",
    life: number | "" = "",
    owner: string = "",
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#add({ key, name, value, life, owner, resolve: (answer) => resolve(read(answer)), reject });
    });
  }

  #add(step: Step): void {
    if (this.#inTurn === 0) setImmediate(() => this.#endTurn());
    this.#inTurn += 1;
    if (this.#inTurn > 1 && this.#together === true) this.#waiting.push(step);
    else void this.#call([step]);
    if (this.#inTurn === BURST && this.#together === undefined) void this.#findOut();
  }

  #endTurn(): void {
    const steps = this.#waiting;
    this.#inTurn = 0;
    this.#waiting = [];
    for (let from = 0; from < steps.length; from += MOST_IN_A_CALL) void this.#call(steps.slice(from, from + MOST_IN_A_CALL));
  }

  async #findOut(): Promise<void> {
    this.#together = false; // until it is proved
    this.#together = await isOneServer(this.#client);
  }

  /** Never rejects: whoever waits for a step hears of it. */
  async #call(steps: readonly Step[]): Promise<void> {
    const keys: string[] = [];
    const args: (string | number)[] = [];
    for (const { key, name, value, life, owner } of steps) {
      keys.push(key);
      args.push(name, value, life, owner);
    }
    try {
      const answers = await evaluate(this.#client, keys, args);
      steps.forEach((step, at) => settle(step, answers[at]));
    } catch (error) {
      if (steps.length > 1 && isRefusal(error, "CROSSSLOT")) return this.#part(steps);
      for (const step of steps) step.reject(error);
    }
  }

  /** There are several servers behind the one address by now. They refused the call as a whole, so nothing is done twice. */
  #part(steps: readonly Step[]): void {
    this.#together = false;
    for (const step of steps) void this.#call([step]);
  }
}

function settle({ resolve, reject }: Step, answer: unknown): void {
  if (answer instanceof Error) reject(answer);
  else resolve(answer);
}
