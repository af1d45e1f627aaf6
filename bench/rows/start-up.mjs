/** What is paid once in a process: zod is there already, the library is not. */
import { apart } from "../apart.mjs";

export const rows = (_library, { library }) => [
  { name: "start-up, importing the library", sample: () => apart("start-up.mjs", library, "import") },
  { name: "start-up, first task and first run", sample: () => apart("start-up.mjs", library, "run") },
];
