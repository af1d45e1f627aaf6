import { describe } from "vitest";
import { locks } from "./scenarios/locks.js";
import { unprotected } from "./scenarios/unprotected.js";
import { searchAll } from "./searched.js";

describe("locks, and work without what the store did not grant, hold in every interleaving", () => {
  searchAll([...locks, ...unprotected]);
});
