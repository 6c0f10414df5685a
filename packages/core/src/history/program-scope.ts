import type { OutputItem, ScopeEntry } from '../protocol/index.js';

/** The program of a conversation after its last script. */
export interface ProgramScope {
  /** The heap from which the next script starts. Undefined: the next script starts a new program. */
  readonly heap?: string | undefined;
  /** The variables in scope, the oldest first. */
  readonly scope: readonly ScopeEntry[];
}

/** The heap and the variables that a conversation's next script can use, if its scripts share their variables. */
export function programScope(items: readonly OutputItem[]): ProgramScope {
  const fold = new ProgramFold();
  for (const item of items) fold.add(item);
  return fold.result;
}

/** Folds the items of a conversation, in order, into its program. */
export class ProgramFold {
  #heap: string | undefined;
  readonly #types = new Map<string, string>();

  add(item: OutputItem): void {
    if (item.type !== 'script_execution_output') return;
    const { heap, scope = [], error, diagnostics = [] } = item;
    const isLost = error?.code === 'HeapNotFoundError';
    if (isLost || diagnostics.some(({ code }) => code === 'variables-dropped')) this.#types.clear();
    if (isLost) this.#heap = undefined;
    this.#heap = heap ?? this.#heap;
    for (const { name, type } of scope) {
      this.#types.delete(name);
      this.#types.set(name, type);
    }
  }

  get result(): ProgramScope {
    return { heap: this.#heap, scope: [...this.#types].map(([name, type]) => ({ name, type })) };
  }
}

/** A longer text of a variable and its type is cut. */
const MAX_ENTRY = 240;

/** The line from which a model learns the variables that its next script can use. */
export function scopeLine(scope: readonly ScopeEntry[]): string {
  const names = scope.map(scopeText).map((text) => (text.length > MAX_ENTRY ? `${text.slice(0, MAX_ENTRY)}…` : text));
  return `In scope for your next script: ${names.join(', ')}`;
}

/** The type of a function with plain parameters. */
const FUNCTION_TYPE = /^(\([^()]*\)) => (.+)$/u;

/** `report(city: string): string` for a function, otherwise `rows: Row[]`. */
export function scopeText({ name, type }: ScopeEntry): string {
  const line = type.replaceAll(/\s+/gu, ' ');
  const [, parameters, result] = FUNCTION_TYPE.exec(line) ?? [];
  if (parameters !== undefined) return `${name}${parameters}: ${result}`;
  return line === `typeof ${name}` ? name : `${name}: ${line}`;
}
