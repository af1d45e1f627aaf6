import type { Mutation } from "../mutation.js";
import { claims } from "./claims.js";
import { locks } from "./locks.js";
import { nested } from "./nested.js";
import { unprotected } from "./unprotected.js";

/** Every way in which the sources are broken on purpose. */
export const mutations: readonly Mutation[] = [...claims, ...locks, ...unprotected, ...nested];
