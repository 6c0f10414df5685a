import type { Tool } from '../protocol/index.js';
import {
  declarationsFor,
  declarationWriter,
  layOutDeclarations,
  missingLine,
  namespaceLine,
  toolNamespace,
  type ResultType,
  type DeclarationDetail,
  type ToolDeclaration,
} from '../tools/index.js';
import { estimatePromptTokens } from './tokens.js';

/** The tools in the form that a prompt shows. */
export interface PromptCatalog {
  /** Declarations. Empty if not even one namespace fits. */
  readonly text: string;
  /** Number of tools shown with at least name and first sentence. */
  readonly shown: number;
  /** The number of the shown tools that have only their name and first sentence. */
  readonly byName: number;
}

/**
 * Writes as many of the tools as fit in `room`, in estimated tokens. If all tools fit, they are shown in full.
 * Otherwise, the tools without a namespace, which are the agent's own, first fill half of the room. The rest is filled
 * step by step, and each step goes to the namespace that has used the fewest tokens. The first step of a namespace shows
 * the number of its tools. The next steps show names with first sentences, then
 * signatures, types and docs. So a large namespace never displaces a small one. A tool whose next step does not fit
 * stays as it is, and others continue. The result depends only on the arguments. `resultType`: the observed types.
 */
export function writePromptCatalog(tools: readonly Tool[], room: number, resultType?: ResultType): PromptCatalog {
  const declare = declarationWriter(tools, { resultType });
  if (fitsInFull(tools, room, declare)) {
    const text = declarationsFor(tools, { resultType });
    if (estimatePromptTokens(text) <= room) return { text, shown: tools.length, byName: 0 };
  }
  const filling = new Filling(tools, room - estimatePromptTokens(FRAME), declare);
  filling.run();
  return filling.catalog();
}

/** The steps of a tool, in order. */
const STEPS: readonly DeclarationDetail[] = ['names', 'signatures', 'types', 'full'];
/** The text around all members. */
const FRAME = 'interface Tools {\n}\n';
/** The share of the room that the tools without a namespace fill first. */
const OWN_SHARE = 0.5;
/** The minimum tokens of a step. */
const MIN_STEP_TOKENS = 3;

/** Whether all tools fit in full. The check stops as soon as the text of the tools is too long. */
function fitsInFull(tools: readonly Tool[], room: number, declare: ReturnType<typeof declarationWriter>): boolean {
  let left = room;
  for (const tool of tools) {
    left -= declarationTokens(declare(tool, 'full'), '');
    if (left < 0) return false;
  }
  return true;
}

interface NamespaceShare {
  readonly path: readonly string[];
  readonly tools: ToolShare[];
  used: number;
  readonly steps: Iterator<Step>;
}

interface ToolShare {
  readonly tool: Tool;
  shown: ToolDeclaration | undefined;
  tokens: number;
}

interface Step {
  /** Tokens that the step adds to the current text. */
  readonly tokens: number;
  apply(): void;
}

class Filling {
  readonly #declare: ReturnType<typeof declarationWriter>;
  readonly #namespaces: NamespaceShare[];
  /** The namespaces that the text already contains, as dotted names. */
  readonly #open = new Set<string>();
  #left: number;

  constructor(tools: readonly Tool[], room: number, declare: ReturnType<typeof declarationWriter>) {
    this.#declare = declare;
    this.#left = room;
    const namespaces = new Map<string, { path: readonly string[]; tools: ToolShare[] }>();
    for (const tool of tools) {
      const path = toolNamespace(tool);
      const namespace = namespaces.get(path.join('.')) ?? { path, tools: [] };
      namespaces.set(path.join('.'), namespace);
      namespace.tools.push({ tool, shown: undefined, tokens: 0 });
    }
    this.#namespaces = [...namespaces.values()].map((namespace) => ({
      ...namespace,
      used: 0,
      steps: this.#steps(namespace.path, namespace.tools),
    }));
  }

  run(): void {
    const own = this.#namespaces.filter(({ path }) => path.length === 0);
    this.#fill(own, this.#left * (1 - OWN_SHARE));
    this.#fill(this.#namespaces, MIN_STEP_TOKENS);
  }

  /** Gives steps to these namespaces while `least` tokens are left. */
  #fill(namespaces: readonly NamespaceShare[], least: number): void {
    const active = new Set(namespaces);
    while (active.size > 0 && this.#left >= least) {
      const namespace = leastUsedNamespace(active);
      const next = namespace.steps.next();
      if (next.done === true) active.delete(namespace);
      else if (next.value.tokens <= this.#left) this.#take(namespace, next.value);
    }
  }

  catalog(): PromptCatalog {
    const open = this.#namespaces.filter(({ path }) => this.#open.has(path.join('.')));
    const shown = open.flatMap(({ tools }) => tools.flatMap((share) => share.shown ?? []));
    const missing = new Map(
      open.map(({ path, tools }) => [path.join('.'), tools.filter((share) => share.shown === undefined).length]),
    );
    return {
      text: open.length === 0 ? '' : layOutDeclarations(shown, { missing }),
      shown: shown.length,
      byName: shown.filter(({ detail }) => detail === 'names').length,
    };
  }

  #take(namespace: NamespaceShare, step: Step): void {
    step.apply();
    namespace.used += step.tokens;
    this.#left -= step.tokens;
  }

  /** Yields each step when its turn comes. A step that does not fit ends the steps of its tool or namespace. */
  *#steps(path: readonly string[], tools: readonly ToolShare[]): Generator<Step> {
    yield this.#listing(path, tools.length);
    if (!this.#open.has(path.join('.'))) return;
    const indent = '  '.repeat(path.length + 1);
    // The first shown tool turns the line of the namespace into a block.
    let more = tokensToOpen(path, tools.length);
    let going = tools;
    for (const detail of STEPS) {
      const applied: ToolShare[] = [];
      for (const share of going) {
        yield this.#telling(share, detail, indent, more);
        if (share.shown?.detail !== detail) continue;
        applied.push(share);
        more = 0;
      }
      going = applied;
    }
  }

  /** Returns the step that adds one line for the namespace, inside its parent. */
  #listing(path: readonly string[], count: number): Step {
    const starts = path.map((_, index) => path.slice(0, index + 1)).filter((start) => !this.#open.has(start.join('.')));
    const frames = starts.filter((start) => start.length < path.length).map(frame);
    return {
      tokens: estimatePromptTokens(frames.join('') + namespaceListing(path, count)),
      apply: () => {
        for (const start of starts) this.#open.add(start.join('.'));
        this.#open.add(path.join('.'));
      },
    };
  }

  #telling(share: ToolShare, detail: DeclarationDetail, indent: string, more: number): Step {
    const shown = this.#declare(share.tool, detail);
    const tokens = declarationTokens(shown, indent);
    return {
      tokens: tokens - share.tokens + more,
      apply: () => {
        share.shown = shown;
        share.tokens = tokens;
      },
    };
  }
}

/** Returns the additional tokens of a namespace that is shown as a block with tools instead of a line. */
function tokensToOpen(path: readonly string[], count: number): number {
  const more = `${namespaceIndent(path)}  ${missingLine(count)}\n`;
  const opened = path.length === 0 ? more : frame(path) + more;
  return estimatePromptTokens(opened) - estimatePromptTokens(namespaceListing(path, count));
}

function namespaceListing(path: readonly string[], count: number): string {
  return path.length === 0 ? '' : `${namespaceIndent(path)}${namespaceLine(path.at(-1) as string, count)}\n`;
}

function frame(path: readonly string[]): string {
  const indent = namespaceIndent(path);
  return `${indent}${path.at(-1)}: {\n${indent}};\n`;
}

function namespaceIndent(path: readonly string[]): string {
  return '  '.repeat(path.length);
}

/** Returns the first of the namespaces that have used the fewest tokens. */
function leastUsedNamespace(namespaces: Iterable<NamespaceShare>): NamespaceShare {
  let least: NamespaceShare | undefined;
  for (const namespace of namespaces) if (least === undefined || namespace.used < least.used) least = namespace;
  return least as NamespaceShare;
}

function declarationTokens({ definitions, member }: ToolDeclaration, indent: string): number {
  return estimatePromptTokens([...definitions, ...member.map((line) => indent + line), ''].join('\n'));
}
