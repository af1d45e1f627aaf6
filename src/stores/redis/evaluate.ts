import { isCluster, type RedisClient } from "./client.js";
import { script } from "./script.js";

/** Runs the script in one round trip, once the server knows it. The client's own errors come through as they are. */
export async function evaluate(
  client: RedisClient,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<readonly unknown[]> {
  try {
    return await send(client, "evalsha", script.sha, keys, args);
  } catch (error) {
    if (!isRefusal(error, "NOSCRIPT")) throw error;
    return send(client, "eval", script.text, keys, args); // what was refused did nothing, so nothing is done twice
  }
}

/** The server names the kind of an error by its first word. It has no other code. */
export function isRefusal(error: unknown, kind: "NOSCRIPT" | "CROSSSLOT"): boolean {
  return error instanceof Error && error.message.startsWith(kind);
}

/**
 * Past the pipelines that a client makes by itself, by a pipeline of one. They would have it wait once more; and in a cluster,
 * ioredis before 5.11 chooses their node by the hash of the script, and no version sends a command that a moved slot refused a
 * second way unless everything in the pipeline was refused.
 */
async function send(
  client: RedisClient,
  command: "evalsha" | "eval",
  text: string,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<readonly unknown[]> {
  const past = client.options.enableAutoPipelining === true || isCluster(client);
  const reply = await (past
    ? sendPast(client, [command, text, keys.length, ...keys, ...args])
    : client[command](text, keys.length, ...keys, ...args));
  return reply as unknown[]; // an answer for each key, as the script says
}

async function sendPast(client: RedisClient, command: unknown[]): Promise<unknown> {
  const replies = await client.pipeline([command]).exec();
  const [error, reply] = replies?.[0] ?? [null, null];
  if (error !== null) throw error;
  return reply;
}
