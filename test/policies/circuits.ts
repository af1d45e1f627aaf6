import { circuitBreaker, circuitOf, Task, type CircuitBreakerOptions } from "taskwright";
import { PausePoint } from "../support/builders.js";

/** What the next runs do: throw, end well, or whatever the function does. */
export type Weather = "fine" | "foul" | ((task: Task) => unknown);

/** A task of its own class that does as it is told, with this breaker, and what can be asked of it. */
export function bank(options?: CircuitBreakerOptions) {
  const told: { weather: Weather; works: number } = { weather: "fine", works: 0 };
  class Bank extends Task.with() {
    work(): unknown {
      told.works += 1;
      if (told.weather === "foul") throw new Error("bank down");
      return typeof told.weather === "function" ? told.weather(this) : "done";
    }
  }
  circuitBreaker(options)(Bank);
  const run = (weather: Weather) => {
    told.weather = weather;
    return Bank.execute();
  };
  const fail = async (times: number): Promise<void> => {
    for (let at = 0; at < times; at += 1) await run("foul");
  };
  /** Starts a run that stands still in its work, and gives the way to end it. */
  const start = async (end: () => unknown = () => "done") => {
    const pause = new PausePoint();
    const result = run(async () => {
      await pause.pass();
      return end();
    });
    await pause.reached;
    return { result, resume: () => pause.resume() };
  };
  return { Bank, told, run, fail, start, state: () => circuitOf(Bank)?.state };
}
