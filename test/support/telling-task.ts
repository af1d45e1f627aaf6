import {
  afterExecution,
  aroundExecution,
  beforeExecution,
  beforeValidation,
  configure,
  onComplete,
  onFailed,
  onInterrupted,
  onKo,
  onOk,
  onSkipped,
  onSuccess,
  Task,
  use,
  type Next,
  type Outcome,
} from "taskwright";
import { z } from "zod";
import { eventNames } from "../../src/telemetry/events.js";
/** What happened in a run, in order. */
export let story: string[] = [];

/** Begins a new story: of the events, the log lines, and what a telling task goes through. */
export function tellStory(): void {
  story = [];
  configure((config) => {
    for (const name of eventNames) config.telemetry.subscribe(name, (event) => story.push(`* ${event.name}`));
    const line = (level: string) => (_fields: object, message: string) => {
      story.push(`log ${level}: ${message}`);
    };
    config.logger = { info: line("info"), warn: line("warn"), error: line("error") };
  });
}

const told = async (name: string, next: Next): Promise<void> => {
  story.push(`> ${name}`);
  const outcome = await next();
  story.push(`< ${name} ${outcome.status}`);
};

/** A base class that tells of everything that it goes through. */
@use(function outer(_task, next) {
  return told("outer middleware", next);
})
@use(function inner(_task, next) {
  return told("inner middleware", next);
})
export abstract class Telling extends Task {
  @beforeExecution() first(): void {
    story.push("before_execution");
  }
  @beforeValidation() second(): void {
    story.push("before_validation");
  }
  @aroundExecution() around(next: Next): Promise<void> {
    return told("around_execution", next);
  }
  @afterExecution() after(): void {
    story.push("after_execution");
  }
  @onComplete() complete(): void {
    story.push("on_complete");
  }
  @onInterrupted() interrupted(): void {
    story.push("on_interrupted");
  }
  @onSuccess() success_(): void {
    story.push("on_success");
  }
  @onSkipped() skipped(): void {
    story.push("on_skipped");
  }
  @onFailed() failed(): void {
    story.push("on_failed");
  }
  @onOk() ok(): void {
    story.push("on_ok");
  }
  @onKo() ko(): void {
    story.push("on_ko");
  }
}

export const input = z.object({ amount: z.number() }).transform((value) => {
  story.push("parse");
  return value;
});
export const output = z.object({ id: z.string() }).transform((value) => {
  story.push("verify");
  return value;
});

/** A task that does everything a task may do. */
export function tellingTask(work: (task: Task) => { id: string }) {
  return class Charge extends Telling.with({ input, output }) {
    work(): { id: string } {
      story.push("work");
      return work(this);
    }

    override rollback(): void {
      story.push("rollback");
    }
  };
}

/** How the story of every run that starts begins. */
export const opening = [
  "> outer middleware",
  "> inner middleware",
  "* task_started",
  "before_execution",
  "before_validation",
  "> around_execution",
];
/** How it ends, with the completion callbacks in between. */
export const closing = (status: Outcome["status"], ...callbacks: string[]): string[] => [
  `< around_execution ${status}`,
  "after_execution",
  ...callbacks,
  `< inner middleware ${status}`,
  `< outer middleware ${status}`,
  "* task_executed",
];
