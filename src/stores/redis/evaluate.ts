import { isCluster, type RedisClient, type RedisCluster } from "./client.js";
import type { Script } from "./scripts.js";

/**
 * Runs a script on one key, in one round trip once the server knows it. The client's own errors come through as they are.
 */
export function evaluate(client: RedisClient, script: Script, key: string, ...args: (string | number)[]): Promise<unknown> {
  if (isCluster(client)) return evaluateInCluster(client, script, key, args);
  return client.evalsha(script.sha, 1, key, ...args).catch((error: unknown) => {
    if (!isUnknownScript(error)) throw error;
    return client.eval(script.text, 1, key, ...args); // the refused call did nothing, so this is no repetition
  });
}

/**
 * Never part of a client's automatic pipeline: some versions of ioredis choose its node by the hash of the script, and one
 * command that a moved slot refuses would take no second way there. A pipeline of one takes it.
 */
async function evaluateInCluster(client: RedisCluster, script: Script, key: string, args: (string | number)[]): Promise<unknown> {
  const send = async (command: string, text: string): Promise<unknown> => {
    const replies = await client.pipeline([[command, text, 1, key, ...args]]).exec();
    const [error, reply] = replies?.[0] ?? [null, null];
    if (error !== null) throw error;
    return reply;
  };
  try {
    return await send("evalsha", script.sha);
  } catch (error) {
    if (!isUnknownScript(error)) throw error;
    return send("eval", script.text);
  }
}

/** The server names the kind of an error by its first word. It has no other code. */
function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("NOSCRIPT");
}
