import { describe } from "vitest";
import { claims } from "./scenarios/claims.js";
import { three } from "./scenarios/three.js";
import { searchAll } from "./searched.js";

describe("the claim protocol holds in every interleaving", () => {
  searchAll([...claims, ...three]);
});
