import { createHash } from "node:crypto";

/** What can be done with one key. */
export type StepName = "claim" | "complete" | "put" | "read" | "remove" | "renew" | "count";

/**
 * Every step of the store, each atomic. A call takes one step on each of its keys, in their order; calls with several keys
 * are only made to a single server, where many steps in a call cost a fraction of as many calls.
 *
 * KEYS[i] the key of step i
 * ARGV[4i-3] the step · ARGV[4i-2] a value · ARGV[4i-1] a life in ms · ARGV[4i] an owner; what a step does not take is empty
 *
 * Returns an answer for each step, an error among them where a step failed:
 *
 * - claim (`nx`): the value is the bare one. The fence, or { raw, ms left } of what is there instead.
 * - complete (`xx`): the value is the raw one, the owner the one that must hold the key, if any. As claim; nil when nothing is there.
 * - put: the value is the raw one. The fence.
 * - read: { raw, ms left }, or nil when nothing is there.
 * - remove: the owner is the one that must hold the key, if any. 1 when an entry went, else 0.
 * - renew: the owner is the one that must hold the key. 1 when the end of its life was moved, else 0.
 * - count: adds 1; the life is that of a new count. { count, ms left }.
 *
 * The clock is the server's, and a fence is its time in microseconds.
 */
const TEXT = `
local steps, granted, now = {}, {}, nil

local function mark(owner)
  return owner ~= '' and ' owner=' .. owner or ''
end

local function holds(owner, raw)
  local mine = mark(owner)
  return mine ~= '' and string.sub(raw, -#mine) == mine
end

local function shown(key, raw)
  return { raw, redis.call('PTTL', key) }
end

-- The clock may stand still while a script runs, so a second claim on a key counts on from the first.
local function fence(key)
  if not now then
    local time = redis.call('TIME')
    now = time[1] * 1000000 + time[2]
  end
  granted[key] = math.max(now, (granted[key] or 0) + 1)
  return granted[key]
end

function steps.claim(key, value, life, owner)
  local raw = value .. mark(owner)
  if not redis.call('SET', key, raw, 'PX', life, 'NX') then
    local held = redis.call('GET', key)
    if not holds(owner, held) then return shown(key, held) end
    redis.call('SET', key, raw, 'PX', life)
  end
  return fence(key)
end

function steps.complete(key, raw, life, owner)
  local held = redis.call('GET', key)
  if not held then return false end
  if owner ~= '' and not holds(owner, held) then return shown(key, held) end
  redis.call('SET', key, raw, 'PX', life)
  return fence(key)
end

function steps.put(key, raw, life)
  redis.call('SET', key, raw, 'PX', life)
  return fence(key)
end

function steps.read(key)
  local held = redis.call('GET', key)
  return held and shown(key, held)
end

function steps.remove(key, _, _, owner)
  if owner ~= '' and not holds(owner, redis.call('GET', key) or '') then return 0 end
  return redis.call('DEL', key)
end

function steps.renew(key, _, life, owner)
  if not holds(owner, redis.call('GET', key) or '') then return 0 end
  return redis.call('PEXPIRE', key, life)
end

function steps.count(key, _, life)
  local count = redis.call('INCR', key)
  local left = redis.call('PTTL', key)
  if left < 0 then
    redis.call('PEXPIRE', key, life)
    left = tonumber(life)
  end
  return { count, left }
end

local answers = {}
for i, key in ipairs(KEYS) do
  local done, answer = pcall(steps[ARGV[4 * i - 3]], key, ARGV[4 * i - 2], ARGV[4 * i - 1], ARGV[4 * i])
  if not done and type(answer) ~= 'table' then answer = { err = answer } end
  answers[i] = answer
end
return answers
`;

export const script: { readonly text: string; readonly sha: string } = {
  text: TEXT,
  sha: createHash("sha1").update(TEXT).digest("hex"),
};
