import { describe } from "vitest";
import { nested } from "./scenarios/nested.js";
import { searchAll } from "./searched.js";

describe("runs inside runs hold in every interleaving", () => {
  searchAll(nested);
});
