import { readFileSync } from 'node:fs';
import { API, SymbolFlags } from 'typescript/unstable/async';
import { GUEST_DECLARATIONS } from '#core/tools/index.js';

export const LIBRARY = readFileSync(
  new URL('../../dist/script/check/type-library/guest.lib.d.ts', import.meta.url),
  'utf8',
);

/** The globals of a script without tools, in addition to the library. */
export const GUEST = `interface Tools { [name: string]: any }\n${GUEST_DECLARATIONS}`;

const FOLDER = '/library';
const PROJECT = `${FOLDER}/tsconfig.json`;
const SCRIPT = `${FOLDER}/script.ts`;
/** The options that the checker uses. */
export const OPTIONS = {
  target: 'es2024',
  module: 'esnext',
  noLib: true,
  types: [],
  noEmit: true,
  strict: false,
  strictNullChecks: true,
  noImplicitAny: true,
};

/** A script's body in the form that the checker reads. */
export function asModule(body: string): string {
  return `export {};async function __script(){\n${body}\n}`;
}

export interface Finding {
  code: number;
  text: string;
}

export interface DeclaredMembers {
  all: Set<string>;
  /** The required names, without the optional ones. */
  promised: Set<string>;
}

/** The native compiler with a library and one script, all in memory: the compiler reads no other file. */
export class Compiler {
  readonly #files: Record<string, string>;
  readonly #api: API;
  #isOpen = false;

  constructor(library = LIBRARY, guest = GUEST) {
    const names = ['guest.lib.d.ts', 'guest.d.ts', 'script.ts'];
    this.#files = {
      [PROJECT]: JSON.stringify({ compilerOptions: OPTIONS, files: names }),
      [`${FOLDER}/guest.lib.d.ts`]: library,
      [`${FOLDER}/guest.d.ts`]: guest,
      [SCRIPT]: 'export {};',
    };
    const folders = ['/', FOLDER];
    this.#api = new API({
      cwd: FOLDER,
      fs: {
        fileExists: (path) => path in this.#files,
        readFile: (path) => this.#files[path] ?? null,
        directoryExists: (path) => folders.includes(path),
        getAccessibleEntries: (path) => ({
          files: path === FOLDER ? Object.keys(this.#files).map((file) => file.slice(FOLDER.length + 1)) : [],
          directories: [],
        }),
        realpath: (path) => path,
      },
    });
  }

  /** All diagnostics of the compiler for a script's body, and for the declarations. */
  async check(body: string): Promise<Finding[]> {
    const { program } = await this.#open(asModule(body));
    const found = [
      ...(await program.getSyntacticDiagnostics()),
      ...(await program.getSemanticDiagnostics()),
      ...(await program.getGlobalDiagnostics()),
      ...(await program.getProgramDiagnostics()),
    ];
    return found.map(({ code, text }) => ({ code, text }));
  }

  /** The members of the types of expressions. */
  async membersOf(expressions: readonly string[]): Promise<Map<string, DeclaredMembers>> {
    const lines = expressions.map((expression, index) => `const probe${index} = ${expression};`);
    const source = `export {};\n${lines.join('\n')}\n`;
    const { checker } = await this.#open(source);
    const positions = expressions.map((_, index) => source.indexOf(`probe${index} `));
    const types = await checker.getTypeAtPosition(SCRIPT, positions);
    const found = new Map<string, DeclaredMembers>();
    for (const [index, expression] of expressions.entries()) {
      const properties = await checker.getPropertiesOfType(types[index]!);
      const named = properties.map(({ escapedName, flags }) => ({ name: writtenName(String(escapedName)), flags }));
      const promised = named.filter(({ flags }) => (flags & SymbolFlags.Optional) === 0);
      found.set(expression, {
        all: new Set(named.map(({ name }) => name)),
        promised: new Set(promised.map(({ name }) => name)),
      });
    }
    return found;
  }

  close(): Promise<void> {
    return this.#api.close();
  }

  async #open(source: string) {
    this.#files[SCRIPT] = source;
    const snapshot = await this.#api.updateSnapshot(
      this.#isOpen ? { fileChanges: { changed: [SCRIPT] } } : { openProjects: [PROJECT] },
    );
    this.#isOpen = true;
    return snapshot.getProject(PROJECT)!;
  }
}

/** The compiler names a member of a well-known symbol after the symbol and a number: `__@iterator@42`. */
function writtenName(escapedName: string): string {
  const symbol = /@(\w+)@\d+$/u.exec(escapedName)?.[1];
  if (symbol !== undefined) return `[Symbol.${symbol}]`;
  return escapedName.startsWith('___') ? escapedName.slice(1) : escapedName;
}
