/** `configure` and what it lets be set. */
import { configure, resetConfiguration, type Clock, type Configuration, type LogFields, type Logger } from "taskwright";
import type { Equal, Expect } from "./exact.js";
import { ChargeCard } from "./tasks.js";

declare const pino: Logger;
declare const clock: Clock;
configure((config) => {
  type _Config = Expect<Equal<typeof config, Configuration>>;
  config.logger = pino;
  config.logger = console;
  config.logger = undefined;
  config.logFields = { input: ["orderId"], context: [] };
  config.tags = ["shop"] as const;
  config.correlationId = () => undefined;
  config.construct = (type) => new type();
  config.clock = clock;
  config.use(async (task, next) => {
    const outcome = await next();
    task.logger.info({ status: outcome.status }, "ran");
  });
  config.callback("on_failed", (task, outcome) => task.logger.error({ by: outcome.by }, outcome.error.message));
  config.callback("after_execution", (_task, outcome) => outcome.status, { unless: (task) => task.attempt > 1 });
});
resetConfiguration();

configure((config) => {
  // @ts-expect-error: a misspelt option
  config.loger = pino;
  // @ts-expect-error: a logger that lacks levels
  config.logger = { info: () => undefined };
  // @ts-expect-error: a logger that takes the message first
  config.logger = { info: (message: string) => message, warn: (m: string) => m, error: (m: string) => m };
  // @ts-expect-error: false silences a class; for all tasks it is undefined
  config.logger = false;
  // @ts-expect-error: one tag instead of a list
  config.tags = "shop";
  // @ts-expect-error: the list is replaced, not added to
  void config.tags.push;
  // @ts-expect-error: an id instead of a function that gives one
  config.correlationId = "request-1";
  // @ts-expect-error: an id that comes later
  config.correlationId = async () => "request-1";
  // @ts-expect-error: the same instance for whatever class
  config.construct = () => new ChargeCard();
  // @ts-expect-error: instances that come later
  config.construct = async (type) => new type();
  // @ts-expect-error: the function of the clock instead of the clock
  config.clock = Date.now;
  // @ts-expect-error: a part that log lines do not have
  config.logFields = { outputs: ["chargeId"] };
  // @ts-expect-error: telemetry is there to subscribe to, not to be replaced
  config.telemetry = console;
  // @ts-expect-error: a callback that does not exist
  config.callback("onFailed", () => undefined);
  // @ts-expect-error: a failure has no output
  config.callback("on_failed", (_task, outcome) => outcome.output);
  // @ts-expect-error: a misspelt gate
  config.callback("on_failed", () => undefined, { when: () => true });
  // @ts-expect-error: a member that tasks do not have
  config.use((task, next) => (task.total ? next() : undefined));
  // @ts-expect-error: an object without call
  config.use({ handle: () => undefined });
});
// @ts-expect-error: the options as an object
configure({ logger: console });
// @ts-expect-error: nothing to change
configure();
// @ts-expect-error: resetting takes nothing
resetConfiguration({ logger: console });
// @ts-expect-error: keys to show are listed for reading only
export const add = ({ input }: Required<LogFields>): unknown => input.push;
