import { cursorFault } from "../check.js";
import type { EntriesOptions } from "../store.js";
import { keyPrefixOf, serversOf, type RedisClient, type RedisNode, type Server } from "./client.js";

/** How many keys a server looks through at once, where few of them match. It answers nobody else meanwhile. */
const MOST_AT_ONCE = 1_000;
/** After so many steps a page ends, however little was found. */
const STEPS = 50;

/** One page of keys under a prefix, from all masters one after the other. A cursor is `<address> <cursor of that server>`. */
export async function scanPage(
  client: RedisClient,
  { prefix, limit = 100, cursor }: EntriesOptions,
): Promise<{ keys: readonly string[]; cursor: string | undefined }> {
  const clientPrefix = keyPrefixOf(client);
  const pattern = `${escapeGlob(clientPrefix + prefix)}*`;
  const servers = await serversOf(client);
  const keys = new Set<string>(); // Redis may give a key twice
  let { at, place } = placeOf(cursor, servers);
  let count = limit;
  for (let step = 0; step < STEPS && keys.size < limit; step += 1) {
    const server = servers[at];
    if (server === undefined) break;
    const [next, found] = await scan(server.node, place, pattern, count);
    for (const key of found) keys.add(key.slice(clientPrefix.length));
    if (found.length === 0) count = Math.max(count, Math.min(count * 2, MOST_AT_ONCE));
    place = next;
    if (place === "0") at += 1;
  }
  const server = servers[at];
  return { keys: [...keys], cursor: server === undefined ? undefined : `${server.address} ${place}` };
}

function placeOf(cursor: string | undefined, servers: readonly Server[]): { at: number; place: string } {
  if (cursor === undefined) return { at: 0, place: "0" };
  const [, address, place] = /^(\S*) (\d+)$/.exec(cursor) ?? [];
  if (address === undefined || place === undefined) throw cursorFault(cursor);
  const at = servers.findIndex((server) => server.address >= address);
  if (at === -1) return { at: servers.length, place: "0" };
  return { at, place: servers[at]?.address === address ? place : "0" }; // its server has left: on with the next
}

async function scan(node: RedisNode, place: string, pattern: string, count: number): Promise<[next: string, keys: string[]]> {
  const reply = await node.call("scan", place, "MATCH", pattern, "COUNT", count, "TYPE", "string");
  return reply as [string, string[]]; // what SCAN answers, by its documentation
}

/** A prefix that means itself in a pattern. */
function escapeGlob(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, "\\$&");
}
