import { createHash } from "node:crypto";

/**
 * Every step that must be atomic and is more than one command. Each touches one key, so all of them run in a cluster.
 *
 * - Redis still shows a key in the very millisecond in which its life ends, with 0 left. Here it is absent by then.
 * - The clock is the server's. A fence is its time in microseconds.
 * - A script is sent by its hash; a server that does not know it yet gets the text once.
 */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

/**
 * Claims a key: `nx`.
 *
 * KEYS[1] the key
 * ARGV[1] the value · ARGV[2] its life in ms · ARGV[3] the owner, or nothing
 * Returns the fence, or { raw, ms left } of what is there instead.
 */
export const CLAIM: Script = script(`
local mine = ARGV[3] ~= '' and ' owner=' .. ARGV[3] or ''
local raw = ARGV[1] .. mine
if not redis.call('SET', KEYS[1], raw, 'PX', ARGV[2], 'NX') then
  local held = redis.call('GET', KEYS[1])
  local left = redis.call('PTTL', KEYS[1])
  local repeated = mine ~= '' and string.sub(held, -#mine) == mine
  if left ~= 0 and not repeated then return { held, left } end
  redis.call('SET', KEYS[1], raw, 'PX', ARGV[2])
end
local time = redis.call('TIME')
return time[1] * 1000000 + time[2]
`);

/**
 * Writes over what is there: `xx`.
 *
 * KEYS[1] the key
 * ARGV[1] the raw value · ARGV[2] its life in ms · ARGV[3] the owner that must hold it, or nothing
 * Returns the fence, { raw, ms left } of what is there instead, or nil when nothing is.
 */
export const COMPLETE: Script = script(`
local held = redis.call('GET', KEYS[1])
if not held then return false end
local left = redis.call('PTTL', KEYS[1])
if left == 0 then return false end
if ARGV[3] ~= '' then
  local mine = ' owner=' .. ARGV[3]
  if string.sub(held, -#mine) ~= mine then return { held, left } end
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local time = redis.call('TIME')
return time[1] * 1000000 + time[2]
`);

/**
 * Writes whatever is there.
 *
 * KEYS[1] the key
 * ARGV[1] the raw value · ARGV[2] its life in ms
 * Returns the fence.
 */
export const PUT: Script = script(`
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local time = redis.call('TIME')
return time[1] * 1000000 + time[2]
`);

/**
 * Reads.
 *
 * KEYS[1] the key
 * Returns { raw, ms left }, or nil when nothing is there.
 */
export const READ: Script = script(`
local held = redis.call('GET', KEYS[1])
if not held then return false end
local left = redis.call('PTTL', KEYS[1])
if left == 0 then return false end
return { held, left }
`);

/**
 * Removes.
 *
 * KEYS[1] the key
 * ARGV[1] the owner that must hold it, or nothing
 * Returns 1 when an entry was removed, else 0.
 */
export const DELETE: Script = script(`
local held = redis.call('GET', KEYS[1])
if not held then return 0 end
if ARGV[1] ~= '' then
  local mine = ' owner=' .. ARGV[1]
  if string.sub(held, -#mine) ~= mine then return 0 end
end
local left = redis.call('PTTL', KEYS[1])
redis.call('DEL', KEYS[1])
return left == 0 and 0 or 1
`);

/**
 * Moves the end of life.
 *
 * KEYS[1] the key
 * ARGV[1] the owner that must hold it · ARGV[2] the life from now in ms
 * Returns 1 when it was moved, else 0.
 */
export const RENEW: Script = script(`
local held = redis.call('GET', KEYS[1])
local mine = ' owner=' .. ARGV[1]
if not held or string.sub(held, -#mine) ~= mine then return 0 end
if redis.call('PTTL', KEYS[1]) == 0 then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`);

function script(text: string): Script {
  return { text, sha: createHash("sha1").update(text).digest("hex") };
}
