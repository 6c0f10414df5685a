import type { Node } from '../syntax/syntax.js';
import { isFunctionNode } from './names.js';

/** Code of an expression, and code of its label, which is evaluated directly after it. */
export type Coded = readonly [code: string, label: string];

/**
 * The kinds of names: `labelled` variables have a shadow with their label, `hoisted` functions and classes have one that
 * stands at the beginning of their block, and `plain` names have none.
 */
export type NameKind = 'labelled' | 'hoisted' | 'plain';

interface Scope {
  readonly up: Scope | undefined;
  readonly names: ReadonlyMap<string, NameKind>;
}

/** The function whose code is written. */
export interface FunctionContext {
  readonly temporaries: string[];
  readonly isArrow: boolean;
  readonly isAsync: boolean;
  readonly isGenerator: boolean;
  usesArguments: boolean;
}

/** A script has syntax that the rewriter does not know. */
export class UnsupportedSyntax extends Error {
  override readonly name = 'UnsupportedSyntax';
}

export const quote = (text: string): string => JSON.stringify(text);
export const shadow = (name: string): string => `${name}$$`;
/** The label that the runtime leaves beside the last value. */
export const LAST = '$.l';
/** The empty label. */
export const NONE = '0';

export interface RewriteInput {
  /** The text of the script. */
  readonly text: string;
  readonly reassigned: ReadonlySet<string>;
  readonly privateMembers: ReadonlyMap<string, 'method' | 'accessor'>;
  /** Whether branches count as sources too. */
  readonly control: boolean;
}

/** Names, temporary variables and labels: what all parts of the rewriter share. */
export abstract class Scopes {
  protected readonly input: RewriteInput;
  protected context: FunctionContext = newContext();
  #scope: Scope | undefined;
  #count = 0;

  constructor(input: RewriteInput) {
    this.input = input;
  }

  /** A new number, for names that the script does not use. */
  protected next(): number {
    return ++this.#count;
  }

  protected temporary(): string {
    const name = `$${this.next()}`;
    this.context.temporaries.push(name);
    return name;
  }

  protected find(name: string): NameKind | undefined {
    for (let scope = this.#scope; scope !== undefined; scope = scope.up) {
      const kind = scope.names.get(name);
      if (kind !== undefined) return kind;
    }
    return undefined;
  }

  protected hasShadow(name: string): boolean {
    const kind = this.find(name);
    return kind === 'labelled' || kind === 'hoisted';
  }

  protected within<T>(names: ReadonlyMap<string, NameKind>, write: () => T): T {
    const before = this.#scope;
    this.#scope = { up: before, names };
    try {
      return write();
    } finally {
      this.#scope = before;
    }
  }

  protected inFunction<T>(context: FunctionContext, write: () => T): T {
    const before = this.context;
    this.context = context;
    try {
      return write();
    } finally {
      this.context = before;
    }
  }

  /** The label, joined with that of the branch in which the code stands. */
  protected branched(label: string): string {
    if (!this.input.control) return label;
    return label === NONE ? '$pc' : `$.join(${label},$pc)`;
  }

  /** The last argument of a call: the label of the branch. */
  protected get branch(): string {
    return this.input.control ? ',$pc' : '';
  }

  /** Code whose value has its label in the register. */
  protected settled([code, label]: Coded): string {
    if (label === LAST) return code;
    return label === NONE ? `$.z(${code})` : `$.s(${code},${label})`;
  }

  protected declareTemporaries({ temporaries }: FunctionContext): string {
    return temporaries.length === 0 ? '' : `let ${temporaries.join(',')};`;
  }
}

export function newContext(parts: Partial<FunctionContext> = {}): FunctionContext {
  return { temporaries: [], isArrow: false, isAsync: false, isGenerator: false, usesArguments: false, ...parts };
}

/** The number of parameters before the first one with a default. */
export function arity(parameters: readonly Node[]): number {
  const end = parameters.findIndex(({ type }) => !PLAIN_PARAMETERS.has(type));
  return end < 0 ? parameters.length : end;
}

const PLAIN_PARAMETERS: ReadonlySet<string> = new Set(['Identifier', 'ObjectPattern', 'ArrayPattern']);

export function isAnonymous(node: Node): boolean {
  if (node.type === 'ClassExpression' || isFunctionNode(node)) return !('id' in node) || node.id === null;
  return false;
}

export function keyText(key: Node): string {
  if (key.type === 'Identifier') return quote(key.name);
  if (key.type !== 'Literal') throw new UnsupportedSyntax(key.type);
  return typeof key.value === 'number' ? String(key.value) : quote(String(key.value));
}

export const OPERATORS: Readonly<Record<string, string>> = {
  '+': 'add',
  '-': 'sub',
  '*': 'mul',
  '/': 'div',
  '%': 'mod',
  '**': 'pow',
  '|': 'or',
  '&': 'and',
  '^': 'xor',
  '<<': 'shl',
  '>>': 'shr',
  '>>>': 'ushr',
  '<': 'lt',
  '>': 'gt',
  '<=': 'le',
  '>=': 'ge',
  '==': 'eq',
  '!=': 'ne',
};
