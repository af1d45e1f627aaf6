import { Cron } from "croner";

/**
 * The next moment of a cron expression after another, in milliseconds since 1970; undefined when there is none any more.
 *
 * @throws when the expression or the time zone is none.
 */
export function nextTick(cron: string, timeZone: string | undefined, afterMs: number): number | undefined {
  const pattern = new Cron(cron, { paused: true, mode: "5-or-6-parts", ...(timeZone !== undefined && { timezone: timeZone }) });
  return pattern.nextRun(new Date(afterMs))?.getTime();
}
