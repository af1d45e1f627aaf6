/** What is inferred from the schemas: inside the task, at the call, in the result, and for code that takes any task. */
import {
  Task,
  type ExecuteArguments,
  type InputOf,
  type OutputOf,
  type ParsedOf,
  type Result,
  type ResultOf,
  type TaskClass,
} from "taskwright";
import * as v from "valibot";
import { z } from "zod";
import type { Equal, Expect } from "./exact.js";
import { ApplicationTask, ChargeCard, ChargeVip, ListOrders, Ping, Refund } from "./tasks.js";

// The four faces of a task.
interface ChargeGiven {
  orderId: string;
  amount: unknown;
  currency?: "USD" | "EUR" | undefined;
  note?: string | undefined;
}
interface ChargeParsed {
  readonly orderId: string;
  readonly amount: number;
  readonly currency: "USD" | "EUR";
  readonly note?: string | undefined;
}
interface ChargeOutput {
  chargeId: string;
  at: Date;
}
export type Faces = [
  Expect<Equal<InputOf<typeof ChargeCard>, ChargeGiven>>,
  Expect<Equal<ChargeCard["input"], ChargeParsed>>,
  Expect<Equal<Readonly<ParsedOf<typeof ChargeCard>>, ChargeParsed>>,
  Expect<Equal<OutputOf<typeof ChargeCard>, ChargeOutput>>,
  Expect<Equal<ResultOf<typeof ChargeCard>, Result<ChargeOutput>>>,
  Expect<Equal<OutputOf<typeof Ping>, { pong: boolean }>>,
  Expect<Equal<OutputOf<typeof ListOrders>, { ids: string[] }>>,
  Expect<Equal<ReturnType<ChargeCard["work"]>, Promise<{ chargeId: string; at: string }>>>,
];

// A subclass of a task inherits both sides; `super.work()` is typed.
export type Inherited = [
  Expect<Equal<InputOf<typeof ChargeVip>, ChargeGiven>>,
  Expect<Equal<ChargeVip["input"], ChargeParsed>>,
  Expect<Equal<OutputOf<typeof ChargeVip>, ChargeOutput>>,
];

// An application's base keeps its statics and its protected members.
export const region: string = ChargeCard.region;
export class Audited extends ApplicationTask.with({ output: z.object({ line: z.string() }) }) {
  work() {
    return { line: this.audit("seen") };
  }
}

// Coercions take what they take; defaults and optional fields may be left out.
export const charge = await ChargeCard.execute({ orderId: "o1", amount: "12" });
export const bang = await ChargeCard.executeBang({ orderId: "o1", amount: 12n, currency: "EUR", note: "gift" });
export const vip = await ChargeVip.execute({ orderId: "o1", amount: 12, note: undefined });
export type Answers = [
  Expect<Equal<typeof charge, Result<ChargeOutput>>>,
  Expect<Equal<typeof vip, Result<ChargeOutput>>>,
  Expect<Equal<typeof bang, Exclude<Result<ChargeOutput>, { status: "failed" }>>>,
];

// Nothing required: the argument may be left out.
export const listed = [await ListOrders.execute(), await ListOrders.execute({}), await ListOrders.execute({ page: 2 })];
export const pinged = [await Ping.execute(), await Ping.execute({}), await Ping.execute(undefined, { context: {} })];
export type Lists = [
  Expect<Equal<(typeof listed)[number], Result<{ ids: string[] }>>>,
  Expect<Equal<(typeof pinged)[number], Result<{ pong: boolean }>>>,
];

// A union narrows at the call and inside `work`.
export const refunds = [await Refund.execute({ by: "card", cardId: "c1" }), await Refund.execute({ by: "bank", iban: "x" })];
export class Narrows extends Refund {
  describe(): string {
    if (this.input.by === "bank") return this.input.bic ?? this.input.iban;
    return this.input.cardId;
  }
}
export type Union = Expect<
  Equal<
    Refund["input"],
    { readonly by: "card"; readonly cardId: string } | { readonly by: "bank"; readonly iban: string; readonly bic?: string | undefined }
  >
>;

// Transforms, nesting, codecs of values: `work` reads the parsed side, the result carries the output side.
export class Report extends Task.with({
  input: z.object({ day: z.iso.date().transform((text) => new Date(text)), tags: z.array(z.string()).transform((tags) => new Set(tags)) }),
  output: z.object({ rows: z.array(z.object({ sku: z.string() })) }).transform(({ rows }) => ({ skus: rows.map(({ sku }) => sku) })),
}) {
  work() {
    const { day, tags } = this.input;
    return { rows: [...tags].map((tag) => ({ sku: `${tag} ${day.getTime()}` })) };
  }
}
export type Transformed = [
  Expect<Equal<InputOf<typeof Report>, { day: string; tags: string[] }>>,
  Expect<Equal<Report["input"], { readonly day: Date; readonly tags: Set<string> }>>,
  Expect<Equal<OutputOf<typeof Report>, { skus: string[] }>>,
];

// Any Standard Schema serves.
export class Greet extends Task.with({
  input: v.object({ name: v.string(), polite: v.optional(v.boolean(), true) }),
  output: v.object({ length: v.pipe(v.string(), v.transform(Number)) }),
}) {
  async work() {
    return { length: this.input.polite ? this.input.name : "" };
  }
}
export type Valibot = [
  Expect<Equal<InputOf<typeof Greet>, { name: string; polite?: boolean | undefined }>>,
  Expect<Equal<Greet["input"], { readonly name: string; readonly polite: boolean }>>,
  Expect<Equal<OutputOf<typeof Greet>, { length: number }>>,
];

// `work` may answer at once, later, or with what only some branches have.
export class Sometimes extends Task.with({ input: z.object({ n: z.number() }) }) {
  async work() {
    if (this.input.n === 0) return this.skip("nothing to do");
    return this.input.n > 1 ? { many: this.input.n } : { one: true };
  }
}
export type Branches = Expect<Equal<OutputOf<typeof Sometimes>, { many: number; one?: never } | { one: boolean; many?: never }>>;

// Code that takes any task: a queue, a pipe, a list.
export declare function enqueue<C extends TaskClass>(type: C, ...args: ExecuteArguments<C>): Promise<ResultOf<C>>;
export const queued = await enqueue(ChargeCard, { orderId: "o1", amount: 1 });
export const queuedPing = await enqueue(Ping);
export declare function chain<A extends TaskClass, B extends TaskClass>(
  first: A,
  second: OutputOf<A> extends InputOf<B> ? B : never,
  input: InputOf<A>,
): Promise<ResultOf<B>>;
export class Notify extends Task.with({ input: z.object({ refundId: z.string() }) }) {
  work() {
    return { sent: this.input.refundId };
  }
}
export const chained = await chain(Refund, Notify, { by: "card", cardId: "c1" });
export const tasks: readonly TaskClass[] = [ChargeCard, ChargeVip, Ping, ListOrders, Refund, Notify];
export const byName = new Map<string, TaskClass>([["ChargeCard", ChargeCard]]);
export type Generic = [
  Expect<Equal<typeof queued, Result<ChargeOutput>>>,
  Expect<Equal<typeof queuedPing, Result<{ pong: boolean }>>>,
  Expect<Equal<typeof chained, Result<{ sent: string }>>>,
];

// @ts-expect-error: a task in place of one whose output the next can take
await chain(Ping, Notify, {});
// @ts-expect-error: an input that is another task's
await enqueue(ChargeCard, { refundId: "r1" });
// @ts-expect-error: an input left out that the task requires
await enqueue(ChargeCard);
// @ts-expect-error: an instance where the class is wanted
await enqueue(new Ping());
// @ts-expect-error: an abstract base among tasks that can be run
tasks.concat(ApplicationTask);
