import { identifierName } from './identifier-name.js';

/** Prefixes that models write before a tool's name instead of `tools`. */
const RECEIVERS = new Set(['api', 'client', 'codemode', 'default_api', 'external', 'functions', 'mcp', 'mux', 'tool']);
const PREFIX = /^external_/u;

/** Finds the tools that names without `tools` can mean. All names are as scripts write them. */
export class ToolFit {
  readonly #names: ReadonlySet<string>;
  /** Full names of tools by their last part: `mcp.github.list` by `list`. */
  readonly #byLastPart = new Map<string, string[]>();
  /** Full names of namespaces by their last part: `mcp.github` by `github`. */
  readonly #namespaces = new Map<string, Set<string>>();

  constructor(toolNames: readonly string[]) {
    this.#names = new Set(toolNames.map(identifierName));
    for (const name of this.#names) {
      const parts = name.split('.');
      const last = parts.at(-1) as string;
      const sameLast = this.#byLastPart.get(last);
      if (sameLast === undefined) this.#byLastPart.set(last, [name]);
      else sameLast.push(name);
      for (let end = 1; end < parts.length; end++) this.#addNamespace(parts.slice(0, end));
    }
  }

  #addNamespace(parts: readonly string[]): void {
    const last = parts.at(-1) as string;
    const paths = this.#namespaces.get(last) ?? new Set();
    this.#namespaces.set(last, paths.add(parts.join('.')));
  }

  /**
   * Returns the one tool that a path can mean, in the form that scripts write: `tools.github.list` for `github.list`,
   * `tools.add` for `codemode.add`. The end of a longer name also means its tool, if this end includes a namespace and
   * no other tool's name has the same end: `github.list` for `mcp.github.list`. Returns undefined if no tool or several
   * tools fit, and for the last part of a name alone: `clear` may be a missing function of the script, and
   * `notes.clear` has effects.
   */
  fitting(names: readonly string[]): string | undefined {
    const path = names.map(identifierName);
    const [first = '', ...rest] = path;
    const name =
      rest.length === 0
        ? this.#namedTool(first.replace(PREFIX, '').replaceAll('__', '.'))
        : (this.#namedTool(path.join('.')) ?? (RECEIVERS.has(first) ? this.#exactly(rest.join('.')) : undefined));
    return name === undefined ? undefined : `tools.${name}`;
  }

  /**
   * Returns the tool that a call in another notation names, in the form that scripts write. The name may have any
   * spelling: the names of functions have no dots.
   */
  called(name: string): string | undefined {
    const fitting = this.fitting(name.split('.'));
    if (fitting !== undefined) return fitting;
    const wanted = letters(name);
    const [only, ...others] = [...this.#names].filter((each) => letters(each) === wanted);
    return only === undefined || others.length > 0 ? undefined : `tools.${only}`;
  }

  /**
   * Returns the path of the one namespace whose tool has this name, if `tools.NAME` itself means nothing: `github` for
   * `search_code`.
   */
  namespaceOf(name: string): string | undefined {
    if (this.#names.has(name) || this.#isNamespace(name)) return undefined;
    const [only, ...others] = this.#byLastPart.get(name) ?? [];
    return only === undefined || others.length > 0 ? undefined : only.slice(0, -1 - name.length);
  }

  #isNamespace(name: string): boolean {
    const start = `${name}.`;
    return [...this.#names].some((known) => known.startsWith(start));
  }

  #namedTool(name: string): string | undefined {
    const exact = this.#exactly(name);
    if (exact !== undefined || !name.includes('.')) return exact;
    const ending = `.${name}`;
    const sameLast = this.#byLastPart.get(name.slice(name.lastIndexOf('.') + 1)) ?? [];
    const [only, ...others] = sameLast.filter((each) => each.endsWith(ending));
    return others.length === 0 ? only : undefined;
  }

  #exactly(name: string): string | undefined {
    return this.#names.has(name) ? name : undefined;
  }

  /** Tools with the same last part in any spelling: `read_file` and `readFile`. */
  similar(path: readonly string[]): readonly string[] {
    const wanted = letters(path.at(-1) ?? '');
    return [...this.#names].filter((name) => letters(name.slice(name.lastIndexOf('.') + 1)) === wanted);
  }

  /** Whether a name means all tools in other systems. */
  isReceiver(name: string): boolean {
    return RECEIVERS.has(name);
  }

  /**
   * The object to which a name refers, as scripts write it: `tools` for `codemode`, `tools.github` for `github`.
   * Undefined if no object or several objects fit.
   */
  holder(name: string): string | undefined {
    const [only, ...others] = this.#namespaces.get(name) ?? [];
    if (only !== undefined) return others.length === 0 ? `tools.${only}` : undefined;
    return RECEIVERS.has(name) ? 'tools' : undefined;
  }
}

function letters(name: string): string {
  return name.replaceAll(/[_$.-]/gu, '').toLowerCase();
}
