/**
 * What `npm run demo` shows: one task and five ways in which a run ends, with its telemetry as it comes.
 */
import { inspect } from "node:util";
import { configure, match, retryOn, Task, type Result } from "taskwright";
import { z } from "zod";

class NetworkError extends Error {}

/** A card provider that lives in this file. It loses the first two calls for a tired card. */
const cards = {
  lost: 0,
  async charge(card: string, amountCents: number): Promise<string> {
    if (card === "stolen") return "declined";
    if (card === "tired" && this.lost++ < 2) throw new NetworkError("connection reset");
    return `charge of ${(amountCents / 100).toFixed(2)} on ${card}`;
  },
};

@retryOn(NetworkError, { limit: 3, delay: "100ms", jitter: "exponential" })
class ChargeCustomer extends Task.with({
  input: z.object({ card: z.string(), amountCents: z.coerce.number().int().nonnegative() }),
  output: z.object({ receipt: z.string() }),
}) {
  async work() {
    if (this.input.amountCents === 0) this.skip("there is nothing to charge");

    const receipt = await cards.charge(this.input.card, this.input.amountCents);
    if (receipt === "declined") this.fail("the card was declined", { code: "card_declined" });

    return { receipt };
  }
}

const color = process.stdout.isTTY && process.env["NO_COLOR"] === undefined;
const paint = (code: number, text: string): string => (color ? `\u001B[${code}m${text}\u001B[0m` : text);
const bold = (text: string): string => paint(1, text);
const dim = (text: string): string => paint(2, text);
const green = (text: string): string => paint(32, text);
const yellow = (text: string): string => paint(33, text);
const red = (text: string): string => paint(31, text);

const printEvent = (name: string, detail = ""): void => console.log(dim(`    ${name.padEnd(16)} ${detail}`.trimEnd()));

configure(({ telemetry }) => {
  telemetry.subscribe("task_started", ({ name }) => printEvent(name));
  telemetry.subscribe("retry_scheduled", ({ name, payload }) =>
    printEvent(name, `attempt ${payload.attempt} in ${payload.delayMs} ms, after: ${payload.error.message}`),
  );
  telemetry.subscribe("task_retried", ({ name, payload }) => printEvent(name, `attempt ${payload.attempt}`));
  telemetry.subscribe("task_executed", ({ name, payload }) => printEvent(name, payload.result.status));
});

function printAnswer(result: Result<{ receipt: string }>): void {
  const answer = match(result, {
    success: ({ output, retries }) => `${green("success")}  ${output.receipt}${retries > 0 ? `, after ${retries} retries` : ""}`,
    skipped: ({ reason }) => `${yellow("skipped")}  ${reason}`,
    failed: ({ reason, metadata, issues }) => `${red("failed")}   ${metadata.code}: ${issues[0]?.message ?? reason}`,
  });
  console.log(`  → ${answer}\n`);
}

const calls = [
  { title: "It succeeds: the amount came as a text and was parsed.", input: { card: "visa", amountCents: "9900" } },
  { title: "It is skipped: there was nothing to do, which is no failure.", input: { card: "visa", amountCents: 0 } },
  { title: "It fails: the provider said no, and saying it again will not help.", input: { card: "stolen", amountCents: 9900 } },
  { title: "It is retried: the network was down twice.", input: { card: "tired", amountCents: 9900 } },
  { title: "It is refused: the input does not fit, so work is not entered.", input: { card: "visa", amountCents: "a lot" } },
];

console.log(bold("\nOne task, five endings\n"));
for (const { title, input } of calls) {
  console.log(bold(`  ${title}`));
  console.log(`  ChargeCustomer.execute(${inspect(input)})`);
  printAnswer(await ChargeCustomer.execute(input));
}
