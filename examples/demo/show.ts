/** How the demo looks in a terminal: who, what, and colours where they can be seen. */

const color = process.stdout.isTTY && process.env["NO_COLOR"] === undefined;
const paint = (code: number, text: string): string => (color ? `\u001B[${code}m${text}\u001B[0m` : text);

const bold = (text: string): string => paint(1, text);
const dim = (text: string): string => paint(2, text);
export const bad = (text: string): string => paint(31, text);

const STATUS_COLORS: Readonly<Record<string, number>> = { success: 32, skipped: 33, failed: 31 };

export function title(text: string): void {
  console.log(`\n${bold(text)}\n`);
}

export function code(text: string): void {
  console.log(`  ${paint(36, text)}`);
}

export function say(who: string, text: string): void {
  console.log(`  ${who.padEnd(11)} ${text}`);
}

export function event(who: string | undefined, name: string, detail = ""): void {
  console.log(dim(`  ${(who ?? "").padEnd(11)} ${name.padEnd(22)} ${detail}`.trimEnd()));
}

/** What a run answered, in one line. */
export function answer(who: string, { status, text }: { readonly status: string; readonly text: string }): void {
  say(who, `→ ${paint(STATUS_COLORS[status] ?? 0, status.padEnd(7))} ${text}`);
}
