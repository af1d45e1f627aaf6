import { DefinitionError } from "../errors.js";
import { isThenable } from "../support/and-then.js";
import { checkFunction, describe, list } from "../support/check.js";
import { channels } from "./channel.js";
import { eventNames, isEventName, type EventName, type TelemetryEvent } from "./events.js";

export type Listener<Name extends EventName> = (event: TelemetryEvent<Name>) => unknown;
type AnyListener = (event: TelemetryEvent) => unknown;

/** Where listeners subscribe: one for everything (`config.telemetry`), and one for each class that asks (`ChargeCustomer.telemetry`). */
export class Telemetry {
  // Copied on write, so that a listener may come or go while an event is on its way.
  readonly #listeners = new Map<EventName, readonly AnyListener[]>();

  /**
   * Calls the listener for every event of that name, and returns the way to stop. Nobody waits for it, and what it
   * throws or rejects with reaches no task: it is announced as `observer_error`.
   *
   * @throws {DefinitionError} when there is no such event.
   */
  subscribe<Name extends EventName>(name: Name, listener: Listener<Name>): () => void {
    if (!isEventName(name)) {
      throw new DefinitionError(`There is no event ${describe(name)} to subscribe to. The events are ${list(eventNames)}.`);
    }
    checkFunction(`the listener of ${name}`, listener);
    const own = listener as AnyListener; // stored under its own event's name, so it only ever gets that event
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), own]);
    let subscribed = true;
    return () => {
      if (!subscribed) return;
      subscribed = false;
      const listeners = this.#listeners.get(name) ?? [];
      this.#listeners.set(name, listeners.toSpliced(listeners.indexOf(own), 1)); // this very subscription: a function may have several
    };
  }

  /** Does anyone listen? Asked before an event is built. */
  hears(name: EventName): boolean {
    return this.#listeners.size > 0 && (this.#listeners.get(name)?.length ?? 0) > 0;
  }

  /** @internal */
  deliver(event: TelemetryEvent, onError: (error: unknown) => void): void {
    for (const listener of this.#listeners.get(event.name) ?? []) {
      try {
        const answer = listener(event);
        if (isThenable(answer)) void Promise.resolve(answer).then(undefined, onError);
      } catch (error) {
        onError(error);
      }
    }
  }
}

/** Does anyone at all listen for this event? */
export function heard(emitters: readonly Telemetry[], name: EventName): boolean {
  for (const emitter of emitters) if (emitter.hears(name)) return true;
  return channels.get(name)?.hasSubscribers === true;
}

/** Tells everyone who listens. */
export function deliver(emitters: readonly Telemetry[], event: TelemetryEvent, onError: (error: unknown) => void): void {
  for (const emitter of emitters) emitter.deliver(event, onError);
  channels.get(event.name)?.publish(event);
}
