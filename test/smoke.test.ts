import { expect, test } from "vitest";
import { Task, onSuccess } from "taskwright";
test("a task with decorated methods runs under this project's decorator protocol", async () => {
  const seen: string[] = [];
  class Greet extends Task.with() {
    work() {
      return { hello: "world" };
    }
    @onSuccess() done() {
      seen.push("done");
    }
  }
  const result = await Greet.execute();
  expect(result.status).toBe("success");
  expect(seen).toEqual(["done"]);
});
