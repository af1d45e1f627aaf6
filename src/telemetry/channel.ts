import { channel, type Channel } from "node:diagnostics_channel";
import { eventNames, type EventName } from "./events.js";

/** Every event is also published on `taskwright:<event>`, so that any APM can listen without our knowing it. */
export const channels: ReadonlyMap<EventName, Channel> = new Map(eventNames.map((name) => [name, channel(`taskwright:${name}`)]));
