import type { Process } from "./process.js";
import type { Program } from "./program.js";
import { KEY } from "./scenario.js";

/** Somebody who acts once in a schedule and is no caller. */
export interface Actor {
  readonly name: string;
  readonly process: Process;
  readonly state: "waiting" | "running" | "ended";
  start(): void;
}

abstract class Once implements Actor {
  abstract readonly name: string;
  readonly process: Process;
  state: Actor["state"] = "waiting";
  protected readonly program: Program;

  constructor(process: Process, program: Program) {
    this.process = process;
    this.program = program;
  }

  start(): void {
    this.state = "running";
    this.process.note(`start ${this.name}`);
    const end = (): void => {
      this.state = "ended";
    };
    this.act().then(end, end); // a store that fails is told to whoever asked, and ends it all the same
  }

  protected abstract act(): Promise<unknown>;
}

/** Looks at the slot and frees it from whom it finds there. */
export class Operator extends Once {
  override readonly name = "the operator";

  protected override async act(): Promise<void> {
    const { store } = this.process;
    const owner = (await store.get(KEY))?.owner;
    if (owner !== undefined) await this.program.library.api.releaseSlot(KEY, { owner, store });
  }
}

/** Tells a process to shut down. */
export class Stopper extends Once {
  override readonly name = "the shutdown";

  protected override act(): Promise<unknown> {
    return this.program.library.api.shutdown({ grace: "500ms" });
  }
}
