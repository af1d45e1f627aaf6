import { randomUUID } from "node:crypto";
import type { RedisClient } from "./client.js";

/** Keys that are tried. Of two servers that share the keys alike, none would be missed once in 2^63 times. */
const TRIES = 64;
/** Tells which server has got the key. */
const WHO = "return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')";

/**
 * Do all keys of this client go to one server? A proxy may spread them, and some send a call with several keys to where the
 * first of them belongs, without a word. So servers are asked who they are, each by a call on a key of its own.
 *
 * @returns undefined when it could not be asked just now.
 */
export async function isOneServer(client: RedisClient): Promise<boolean | undefined> {
  try {
    const who = await Promise.all(Array.from({ length: TRIES }, () => client.eval(WHO, 1, `taskwright:probe:${randomUUID()}`)));
    return typeof who[0] === "string" && who.every((server) => server === who[0]);
  } catch (error) {
    return isReplyError(error) ? false : undefined;
  }
}

/** Did the server understand, and say no? A broken connection is something else. */
export function isReplyError(error: unknown): boolean {
  return error instanceof Error && error.name === "ReplyError";
}
