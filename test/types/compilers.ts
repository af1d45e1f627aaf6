/** The compilers that applications use, and applications for them to check. */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { root } from "../../scripts/tsc.mjs";
import { runProgram } from "../support/run-program.js";

export interface Compiler {
  /** As `TypeScript 7.0.2`. */
  readonly name: string;
  readonly folder: string;
}

export const newest: Compiler = compilerIn("typescript");
export const oldest: Compiler = compilerIn("typescript-5.9");
export const compilers: readonly Compiler[] = [newest, compilerIn("typescript-6"), oldest];

function compilerIn(name: string): Compiler {
  const folder = join(root, "node_modules", name);
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string }; // npm's own format
  return { name: `TypeScript ${version}`, folder };
}

export type Options = Readonly<Record<string, unknown>>;

/** As strict as applications are. */
const strict: Options = {
  target: "ES2022",
  lib: ["ES2023"],
  module: "NodeNext",
  moduleResolution: "NodeNext",
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  skipLibCheck: true,
  types: ["node"],
  noEmit: true,
};

export interface Checked {
  /** 0 when there is nothing to complain about. */
  readonly code: number | undefined;
  readonly output: string;
}

/** An application in a folder of its own under `tmp`. */
export class Application {
  readonly folder: string;

  constructor(name: string) {
    this.folder = join(root, "tmp/types", name.replaceAll(/[^\w.]+/g, "-"));
    rmSync(this.folder, { recursive: true, force: true });
    this.write("package.json", JSON.stringify({ name: "application", private: true, type: "module" }));
  }

  /** Puts the package where npm would put it, with the files that are published. */
  install(): this {
    const to = join(this.folder, "node_modules/taskwright");
    cpSync(join(root, "dist"), join(to, "dist"), { recursive: true });
    cpSync(join(root, "package.json"), join(to, "package.json"));
    return this;
  }

  write(file: string, text: string): this {
    const path = join(this.folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return this;
  }

  read(file: string): string {
    return readFileSync(join(this.folder, file), "utf8");
  }

  /** Runs a compiler over files of the application, or over files elsewhere in the repository. */
  async check(
    compiler: Compiler,
    project: { options?: Options; include?: readonly string[]; exclude?: readonly string[] } = {},
    ...args: string[]
  ): Promise<Checked> {
    const { options = {}, include = [join(this.folder, "*.ts")], exclude = [] } = project;
    const here = (path: string): string => relative(this.folder, path);
    const config = { compilerOptions: { ...strict, ...options }, include: include.map(here), exclude: exclude.map(here) };
    this.write("tsconfig.json", JSON.stringify(config));
    const program = join(compiler.folder, "bin/tsc");
    const { code, stdout, stderr } = await runProgram(program, {
      cwd: this.folder,
      timeoutMs: 150_000,
      args: ["-p", ".", "--pretty", "false", ...args],
    });
    return { code, output: stdout + stderr };
  }
}
