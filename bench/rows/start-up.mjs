/** What is paid once in a process: zod is there already, the library is not. */
import { apart } from "../apart.mjs";

const row = (name, library, what) => ({ name, every: 2, sample: (clock) => apart("start-up.mjs", library, what, clock) });

export const rows = (_library, { library }) => [
  row("start-up, importing the library", library, "import"),
  row("start-up, first task and first run", library, "run"),
];
