/**
 * Everything without decorator syntax: decorators are functions, and are called with the class.
 */
import { callback, deprecated, retryOn, settings, Task, use } from "taskwright";
import { z } from "zod";

class SearchIndex extends Task.with({
  input: z.object({ words: z.string().min(1) }),
  output: z.object({ hits: z.array(z.string()) }),
}) {
  work() {
    if (this.attempt === 1) throw new Error("the index is being rebuilt");
    return { hits: [`all about ${this.input.words}`] };
  }
}

// The order of calls is the order of decorators read from below: what is applied last lies outermost.
settings({ tags: ["search"], description: "Finds pages by their words." })(SearchIndex);
retryOn(Error, { limit: 1, delay: 0 })(SearchIndex);
use(async (task, next) => {
  const outcome = await next();
  console.log(`middleware: ${outcome.status}`);
  return outcome;
})(SearchIndex);
callback("on_success", (task: SearchIndex, outcome) => console.log(`callback: ${task.input.words} gave`, outcome.output))(SearchIndex);

const found = await SearchIndex.execute({ words: "tea" });
console.log(`result: ${found.status} after ${found.retries} retry, tags ${found.tags.join(", ")}`);

class OldSearch extends SearchIndex {}
deprecated("use SearchIndex", { action: "fail" })(OldSearch);

const old = await OldSearch.execute({ words: "tea" });
console.log(`result: ${old.status}, ${old.reason}`);
