import { identifierForm } from './tool-names.js';

/** What models put before a tool's name where they do not write `tools`. */
const RECEIVERS = new Set(['api', 'client', 'codemode', 'default_api', 'external', 'functions', 'mcp', 'mux', 'tool']);
const PREFIX = /^external_/u;

/** Finds the tools that names without `tools` can mean. All names are as scripts write them. */
export class ToolFit {
  readonly #names: ReadonlySet<string>;
  readonly #namespaces = new Set<string>();
  /** The tools that end with a name; several where the name alone says too little. */
  readonly #byLastPart = new Map<string, string[]>();

  constructor(toolNames: readonly string[]) {
    this.#names = new Set(toolNames.map(identifierForm));
    for (const name of this.#names) {
      const parts = name.split('.');
      const last = parts.at(-1) as string;
      if (parts.length > 1) this.#namespaces.add(parts[0] as string);
      this.#byLastPart.set(last, [...(this.#byLastPart.get(last) ?? []), name]);
    }
  }

  /**
   * The one tool that a path can mean: `github.list` is `github.list`, `codemode.add` is `add`, `list` is
   * `github.list` where no other tool is called that. Undefined where none fits, and where several do.
   */
  fitting(path: readonly string[]): string | undefined {
    const [first = '', ...rest] = path;
    if (this.#names.has(path.join('.'))) return path.join('.');
    if (rest.length > 0) return RECEIVERS.has(first) && this.#names.has(rest.join('.')) ? rest.join('.') : undefined;
    const bare = first.replace(PREFIX, '');
    if (this.#names.has(bare)) return bare;
    const [only, ...others] = this.#byLastPart.get(bare) ?? [];
    return others.length === 0 ? only : undefined;
  }

  /** Tools of the same last part, however it is spelled: `read_file` and `readFile`. */
  similar(path: readonly string[]): readonly string[] {
    const wanted = letters(path.at(-1) ?? '');
    return [...this.#names].filter((name) => letters(name.slice(name.lastIndexOf('.') + 1)) === wanted);
  }

  /** Whether a name stands for all tools in other systems. */
  isReceiver(name: string): boolean {
    return RECEIVERS.has(name);
  }

  /** Whether tools stand under that name: `github` where there is `github.list`. */
  hasNamespace(name: string): boolean {
    return this.#namespaces.has(name);
  }
}

function letters(name: string): string {
  return name.replaceAll(/[_$-]/gu, '').toLowerCase();
}
