import { Task } from "../task/task.js";
import { idempotencyOf } from "./decorator.js";
import type { Idempotency } from "./options.js";

/** `ChargeCustomer.idempotency`: what holds for the class, inherited options included; undefined where it is off. Added here, since tasks know no policy by name. */
declare module "../task/task.js" {
  namespace Task {
    const idempotency: Idempotency | undefined;
  }
}

Object.defineProperty(Task, "idempotency", {
  get(this: object): Idempotency | undefined {
    return idempotencyOf(this);
  },
});
