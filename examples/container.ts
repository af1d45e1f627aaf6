/**
 * Dependencies: `config.construct` makes the instance of each run, so a container can hand in what the task needs.
 */
import { configure, resetConfiguration, Task } from "taskwright";
import { z } from "zod";

interface Mailer {
  send(to: string, text: string): Promise<void>;
}

class ConsoleMailer implements Mailer {
  async send(to: string, text: string): Promise<void> {
    console.log(`mail to ${to}: ${text}`);
  }
}

class RecordingMailer implements Mailer {
  readonly sent: string[] = [];

  async send(to: string): Promise<void> {
    this.sent.push(to);
  }
}

/** The parameter has a default, so the task can also be made without a container. */
class Welcome extends Task.with({ input: z.object({ to: z.email() }) }) {
  readonly #mailer: Mailer;

  constructor(mailer: Mailer = new ConsoleMailer()) {
    super();
    this.#mailer = mailer;
  }

  async work() {
    await this.#mailer.send(this.input.to, "welcome");
  }
}

/** A container in ten lines. One of a library is used the same way. */
class Container {
  readonly #recipes = new Map<unknown, () => unknown>();

  bind<T>(type: new () => T, recipe: () => T): void {
    this.#recipes.set(type, recipe);
  }

  make<T>(type: new () => T): T {
    const recipe = this.#recipes.get(type);
    return recipe === undefined ? new type() : (recipe() as T); // `bind` stored the two together
  }
}

const mailer = new RecordingMailer();
const container = new Container();
container.bind(Welcome, () => new Welcome(mailer));

configure((config) => {
  config.construct = (type) => container.make(type); // called once for each run
});

await Welcome.execute({ to: "ada@example.com" });
await Welcome.execute({ to: "bob@example.com" });
console.log("recorded:", mailer.sent);

resetConfiguration(); // back to `new Welcome()`
await Welcome.execute({ to: "cleo@example.com" });
