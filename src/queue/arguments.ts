import type { InputOf, TaskClass } from "../task/contract.js";
import type { EnqueueOptions } from "./options.js";

/** The arguments of `enqueue` after the task: the input may be left out where nothing in it is required. */
export type EnqueueArguments<C extends TaskClass> =
  Readonly<Record<never, never>> extends InputOf<C>
    ? [input?: InputOf<C>, options?: EnqueueOptions]
    : [input: InputOf<C>, options?: EnqueueOptions];

/** One entry of `enqueueMany`: the input, and beside it what `enqueue` takes as options. */
export type BatchEntry<C extends TaskClass> = EnqueueOptions &
  (Readonly<Record<never, never>> extends InputOf<C> ? { readonly input?: InputOf<C> } : { readonly input: InputOf<C> });
