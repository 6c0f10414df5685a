import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseSync } from 'oxc-parser';
import { markPages } from '#core/sandbox/quickjs/changed-pages.js';
import { buildSandbox } from '#core/sandbox/image-build/build-image.js';
import { loadStoredArtefacts, type ExecuteArtefacts } from '#core/sandbox/worker/artefacts.js';
import { bundleGuest } from '../../../build/bundle-guest.mjs';

const sources = new URL('../../../src/sandbox/guest/', import.meta.url);
const engine = new URL('../../../engine/', import.meta.url);

/** A fault for a module of the bridge: its path within the guest's folder, and the change of its source. */
export interface PlantedFault {
  readonly module: string;
  readonly change: (source: string) => string;
}

/**
 * The engine and an image of a guest that counts the executed blocks of its bridge, and whose lines fail on the host's
 * request.
 */
export async function buildInstrumented(fault?: PlantedFault): Promise<ExecuteArtefacts> {
  const instruments = new Instruments();
  const changed = new Map<string, string>();
  // The modules are in a fixed order, so that counters and lines always have the same numbers.
  for (const path of bridgeModules()) {
    const source = readFileSync(new URL(path, sources), 'utf8');
    const faulty = fault?.module === path ? fault.change(source) : source;
    changed.set(path, instruments.countBlocks(instruments.failLines(faulty)));
  }
  const guest = await bundleGuest({
    change: (path, source) => changed.get(path) ?? source,
    prelude: instruments.declarations(),
  });
  const folder = await mkdtemp(join(tmpdir(), 'toolscript-guest-'));
  try {
    const out = pathToFileURL(`${folder}/`);
    await buildSandbox({ guest, engine, out });
    return await loadBuilt(out);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function bridgeModules(): string[] {
  const files = readdirSync(new URL('bridge/', sources)).toSorted();
  return [...files.map((file) => `bridge/${file}`), 'main.ts'];
}

async function loadBuilt(out: URL): Promise<ExecuteArtefacts> {
  const read = (name: string) => readFile(new URL(name, out));
  const [binary, header, content] = await Promise.all(['engine.wasm', 'execute.json', 'execute.image'].map(read));
  const line = Buffer.from(`${JSON.stringify(JSON.parse(header!.toString()))}\n`);
  const kept = new Map([binary!, Buffer.concat([line, content!])].map((bytes) => [sha256(bytes), bytes]));
  return loadStoredArtefacts([...kept.keys()], (name) => Promise.resolve(kept.get(name)), 128);
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The bytes before the counters. The host finds the counters in the guest's memory by them. */
export const COUNTER_MARK = Buffer.from(Array.from({ length: 16 }, (_, index) => (index * 37 + 11) & 255));
const MAX_COUNTERS = 4_000;

/** The words before the plan of a failing line. The host finds the plan in the guest's memory by them. */
const PLAN_MARK = [0x3c6ef372, 0x510e527f, 0x1f83d9ab, 0x5be0cd19] as const;
const MAX_LINES = 1_000;
const PLAN = { line: 4, countdown: 5, passed: 6, length: 6 + MAX_LINES } as const;

/**
 * A statement of the bridge that fails, as any statement may that uses memory or stack: `line` is the number of the
 * statement among these, `nth` the pass that fails.
 */
export interface LineFailure {
  readonly line: number;
  readonly nth: number;
}

/** Adds counters and points of failure to the sources of modules, numbered through all of them. */
class Instruments {
  #counters = 0;
  #lines = 0;

  /**
   * A module with a counter in each of its blocks and branches. The counters are bytes of one array, so counting needs
   * no memory and no stack, and works if both are exhausted.
   */
  countBlocks(source: string): string {
    const inserts: { at: number; text: string; isEnd: boolean }[] = [];
    const counter = () => `__counters[${COUNTER_MARK.length + this.#counters++}]++`;
    const insert = (at: number, text: string, isEnd = false) => inserts.push({ at, text, isEnd });
    const branch = (node: SyntaxNode) => {
      insert(node.start, `(${counter()}, `);
      insert(node.end, ')', true);
    };
    const body = (node: SyntaxNode | null) => {
      if (node === null || node.type === 'BlockStatement') return;
      insert(node.start, `{ ${counter()}; `);
      insert(node.end, ' }', true);
    };
    const visit = (node: SyntaxNode) => {
      switch (node.type) {
        case 'BlockStatement': {
          const directives = (node['body'] as SyntaxNode[]).filter((line) => typeof line['directive'] === 'string');
          insert(directives.at(-1)?.end ?? node.start + 1, ` ${counter()}; `);
          break;
        }
        case 'ArrowFunctionExpression':
          if (node['expression'] === true) branch(node['body'] as SyntaxNode);
          break;
        case 'ConditionalExpression':
          branch(node['consequent'] as SyntaxNode);
          branch(node['alternate'] as SyntaxNode);
          break;
        case 'LogicalExpression':
          branch(node['right'] as SyntaxNode);
          break;
        case 'IfStatement':
          body(node['consequent'] as SyntaxNode);
          body(node['alternate'] as SyntaxNode | null);
          break;
        case 'ForStatement':
        case 'WhileStatement':
        case 'ForOfStatement':
          body(node['body'] as SyntaxNode);
          break;
        case 'SwitchCase': {
          const [first] = node['consequent'] as SyntaxNode[];
          if (first !== undefined) insert(first.start, `${counter()}; `);
          break;
        }
        default:
      }
      for (const child of childrenOf(node)) visit(child);
    };
    visit(parseModule(source));
    if (this.#counters > MAX_COUNTERS) throw new Error(`${this.#counters} counters are more than there is room for`);
    return applyInserts(source, inserts);
  }

  /**
   * A module with a point before each statement that can fail. The statement fails there on the host's request. Without
   * it, a failure between two certain lines needs a heap with room for only one of them.
   */
  failLines(source: string): string {
    const inserts: { at: number; text: string; isEnd: boolean }[] = [];
    const point = () => {
      const line = this.#lines++;
      return `__plan[${PLAN.passed + line}]++; if (__plan[${PLAN.line}] === ${line} && __plan[${PLAN.countdown}]-- === 0) throw __failure; `;
    };
    const visit = (node: SyntaxNode, isInBlock: boolean, depth: number) => {
      const inFunction = depth + (/Function/u.test(node.type) ? 1 : 0);
      // Statements outside of functions run when the image is built.
      if (inFunction > 0 && SIMPLE_STATEMENTS.has(node.type) && canFail(node)) {
        inserts.push({ at: node.start, text: isInBlock ? point() : `{ ${point()}`, isEnd: false });
        if (!isInBlock) inserts.push({ at: node.end, text: ' }', isEnd: true });
      }
      const holdsList = node.type === 'BlockStatement' || node.type === 'SwitchCase';
      // The head of a loop declares variables, but is no statement.
      const isHead = (child: SyntaxNode) => child === node['init'] || child === node['left'];
      for (const child of childrenOf(node))
        if (child.type !== 'VariableDeclaration' || !isHead(child)) visit(child, holdsList, inFunction);
    };
    visit(parseModule(source), true, 0);
    if (this.#lines > MAX_LINES) throw new Error(`${this.#lines} lines are more than there is room for`);
    return applyInserts(source, inserts);
  }

  /** Code that comes before the modules. */
  declarations(): string {
    const counters = `const __counters = new Uint8Array(${COUNTER_MARK.length + MAX_COUNTERS});`;
    const mark = `for (let index = 0; index < ${COUNTER_MARK.length}; index++) __counters[index] = index * 37 + 11;`;
    const plan = `const __plan = new Int32Array(${PLAN.length}); __plan.set([${PLAN_MARK.join(', ')}, -1]);`;
    return `${counters} ${mark} ${plan} const __failure = new Error('a line failed');`;
  }
}

function parseModule(source: string): SyntaxNode {
  const { program, errors } = parseSync('module.ts', source, { lang: 'ts', sourceType: 'module' });
  if (errors.length > 0) throw new Error(errors[0]!.message);
  return program as unknown as SyntaxNode;
}

const SIMPLE_STATEMENTS: ReadonlySet<string> = new Set([
  'ExpressionStatement',
  'VariableDeclaration',
  'ReturnStatement',
]);
const TAKES_MEMORY =
  /^(?:CallExpression|NewExpression|ArrayExpression|ObjectExpression|TemplateLiteral|FunctionExpression|ArrowFunctionExpression|ClassExpression)$/u;

/** True for a statement that uses memory or stack: it calls, creates a value, joins text, or grows a list. */
function canFail(node: SyntaxNode): boolean {
  if (TAKES_MEMORY.test(node.type)) return true;
  if (node.type === 'BinaryExpression' && node['operator'] === '+') return true;
  if (node.type === 'AssignmentExpression' && assignmentCanFail(node)) return true;
  return childrenOf(node).some(canFail);
}

function assignmentCanFail(node: SyntaxNode): boolean {
  const [left, right] = [node['left'] as SyntaxNode, node['right'] as SyntaxNode];
  if (left.type === 'MemberExpression' && left['computed'] === true) return true;
  const isCount = right.type === 'Literal' || (right['property'] as SyntaxNode | undefined)?.['name'] === 'length';
  return node['operator'] === '+=' && !isCount;
}

const PLAN_BYTES = Buffer.from(Int32Array.from(PLAN_MARK).buffer);

/** The plan within the memory of a guest whose lines can fail; undefined if they cannot fail. */
export class LinePlan {
  private constructor(readonly at: number) {}

  static find(memory: Uint8Array, from: number): LinePlan | undefined {
    const at = Buffer.from(memory.buffer, memory.byteOffset, memory.byteLength).indexOf(PLAN_BYTES, from);
    return at < 0 ? undefined : new LinePlan(at);
  }

  set(memory: Uint8Array, failure: LineFailure | undefined): void {
    markPages(memory, this.at, PLAN.length * 4);
    const words = this.#words(memory);
    words[PLAN.line] = failure?.line ?? -1;
    words[PLAN.countdown] = failure?.nth ?? 0;
  }

  /** The number of passes of each line, by its number. */
  passed(memory: Uint8Array): Map<number, number> {
    const counts = [...this.#words(memory).subarray(PLAN.passed)].entries();
    return new Map([...counts].filter(([, count]) => count > 0));
  }

  #words(memory: Uint8Array): Int32Array {
    return new Int32Array(memory.buffer, memory.byteOffset + this.at, PLAN.length);
  }
}

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  return Object.values(node)
    .flat()
    .filter((child): child is SyntaxNode => typeof (child as SyntaxNode | null)?.type === 'string');
}

/** Sorts the inserts. At the same position, inner ends come before beginnings, and outer ends come last. */
function applyInserts(source: string, inserts: readonly { at: number; text: string; isEnd: boolean }[]): string {
  const ordered = inserts
    .map((insert, index) => ({ ...insert, order: insert.isEnd ? -index - 1 : index }))
    .sort((left, right) => left.at - right.at || left.order - right.order);
  let text = '';
  let from = 0;
  for (const { at, text: added } of ordered) {
    text += source.slice(from, at) + added;
    from = at;
  }
  return text + source.slice(from);
}
