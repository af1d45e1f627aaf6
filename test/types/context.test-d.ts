/** An application declares the entries of the shared bag once, by merging into `TaskContext`. */
import { Task } from "taskwright";

declare module "taskwright" {
  interface TaskContext {
    /** Set by the middleware that answers HTTP requests. */
    testUserId?: string;
  }
}

export class ReadsContext extends Task.with() {
  work() {
    // @ts-expect-error: a declared entry of the wrong type
    this.context.testUserId = 1;
    this.context.testUserId = "u1";
    this.context["anything"] = 1;
    return { user: this.context.testUserId.trim() };
  }
}
