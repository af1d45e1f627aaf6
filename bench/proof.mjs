/** Nothing is measured that does not do what its row says. */
import { charges } from "./charge.mjs";

/**
 * Makes one call and throws unless the work ran as often as the row says (`charges`) and the answer is the right one (`right`).
 *
 * @param {import("./measure.mjs").Row} row
 */
export async function prove({ name, call, charges: expected, right }) {
  if (call === undefined) return;
  const before = charges();
  const answer = await call();
  const ran = charges() - before;
  if (expected !== undefined && ran !== expected)
    throw new Error(`The row "${name}" should run the work ${expected} times in one call, and ran it ${ran} times.`);
  if (right !== undefined && !right(answer)) throw new Error(`The row "${name}" gave the wrong answer: ${JSON.stringify(answer)}`);
}

/** The answers that rows give: of the work itself, and of runs. */
export const isCharge = (answer) => /^pay_\d{12}$/.test(answer?.chargeId);
export const isSuccess = (result) => result.status === "success" && isCharge(result.output);
export const isDuplicate = (result) => result.status === "skipped" && result.metadata.code === "duplicate";
export const isReplay = (result) => isSuccess(result) && result.replayed;
