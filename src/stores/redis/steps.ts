import { setImmediate } from "node:timers";
import { isCluster, type RedisClient } from "./client.js";
import { script, type StepName } from "./script.js";

/** One step on one key, and who waits for its answer. */
interface Step {
  readonly key: string;
  readonly args: readonly [name: StepName, value: string, life: number | "", owner: string];
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Steps in one call. The server answers nobody else meanwhile, which is well under a millisecond for so many. */
const MOST_IN_A_CALL = 64;

/**
 * Takes steps on a server, each in one round trip. Of a client that pipelines by itself, the steps of one turn of the event
 * loop go together, many in a call, which costs both sides less than as many commands. In a cluster every step goes alone.
 */
export class Steps {
  readonly #client: RedisClient;
  /** May a call have several keys? */
  #together: boolean;
  #waiting: Step[] = [];

  constructor(client: RedisClient) {
    this.#client = client;
    this.#together = !isCluster(client) && client.options.enableAutoPipelining === true;
  }

  /** @param read What the answer means to the caller. */
  take<Answer>(
    read: (answer: unknown) => Answer,
    key: string,
    ...args: [name: StepName, value?: string, life?: number, owner?: string]
  ): Promise<Answer> {
    const [name, value = "", life = "", owner = ""] = args;
    return new Promise((resolve, reject) => {
      this.#add({ key, args: [name, value, life, owner], resolve: (answer) => resolve(read(answer)), reject });
    });
  }

  #add(step: Step): void {
    if (!this.#together) return void this.#call([step]);
    this.#waiting.push(step);
    if (this.#waiting.length === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    const steps = this.#waiting;
    this.#waiting = [];
    for (let from = 0; from < steps.length; from += MOST_IN_A_CALL) void this.#call(steps.slice(from, from + MOST_IN_A_CALL));
  }

  /** Never rejects: whoever waits for a step hears of it. */
  async #call(steps: readonly Step[]): Promise<void> {
    try {
      const answers = await this.#evaluate(steps);
      for (const [at, step] of steps.entries()) settle(step, answers[at]);
    } catch (error) {
      if (steps.length > 1 && isRefusal(error, "CROSSSLOT")) return this.#part(steps);
      for (const step of steps) step.reject(error);
    }
  }

  /** There is a cluster behind the one address. It refused the call as a whole, so nothing is done twice. */
  #part(steps: readonly Step[]): void {
    this.#together = false;
    for (const step of steps) void this.#call([step]);
  }

  async #evaluate(steps: readonly Step[]): Promise<readonly unknown[]> {
    const rest = [...steps.map(({ key }) => key), ...steps.flatMap(({ args }) => args)];
    try {
      return await this.#send("evalsha", script.sha, steps.length, rest);
    } catch (error) {
      if (!isRefusal(error, "NOSCRIPT")) throw error;
      return this.#send("eval", script.text, steps.length, rest); // what was refused did nothing, so nothing is done twice
    }
  }

  /**
   * Past the client's own pipelines in a cluster: ioredis before 5.11 chooses their node by the hash of the script, and when a
   * slot moves, it sends a refused command a second way only if everything in the pipeline was refused.
   */
  async #send(
    command: "evalsha" | "eval",
    text: string,
    keyCount: number,
    rest: readonly (string | number)[],
  ): Promise<readonly unknown[]> {
    const alone = !this.#together && !isCluster(this.#client);
    const reply = await (alone ? this.#client[command](text, keyCount, ...rest) : this.#sendPast([command, text, keyCount, ...rest]));
    return reply as unknown[]; // an answer for each step, as the script says
  }

  async #sendPast(command: readonly unknown[]): Promise<unknown> {
    const replies = await this.#client.pipeline([[...command]]).exec();
    const [error, reply] = replies?.[0] ?? [null, null];
    if (error !== null) throw error;
    return reply;
  }
}

function settle({ resolve, reject }: Step, answer: unknown): void {
  if (answer instanceof Error) reject(answer);
  else resolve(answer);
}

/** The server names the kind of an error by its first word. It has no other code. */
function isRefusal(error: unknown, kind: "NOSCRIPT" | "CROSSSLOT"): boolean {
  return error instanceof Error && error.message.startsWith(kind);
}
