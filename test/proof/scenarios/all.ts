import type { Scenario } from "../scenario.js";
import { claims } from "./claims.js";
import { locks } from "./locks.js";
import { nested } from "./nested.js";
import { three } from "./three.js";
import { unprotected } from "./unprotected.js";

/** Everything that is searched. */
export const scenarios: readonly Scenario[] = [...claims, ...locks, ...unprotected, ...nested, ...three];
