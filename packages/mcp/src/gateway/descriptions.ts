import type { Harness } from '@toolscript/core';

/** Maximum characters of a description. Claude Code cuts descriptions after 2 048. */
export const MAX_DESCRIPTION = 2_000;

/** Maximum characters of a namespace in a description. `search_tools` finds the tools of longer ones. */
const MAX_NAMESPACE = 100;

/** The texts about its tools that a gateway shows to its clients before they ask. */
export interface GatewayOffer {
  /** The description of `run_script`, which clients cache. */
  readonly description: string;
  /** The instructions that a client receives when it connects. */
  readonly instructions: string;
  /** The namespaces of the tools. `tools` contains the tools without a namespace. */
  readonly namespaces: readonly string[];
}

const GUIDE = [
  'Runs TypeScript that calls tools: pass `{ code }`. It runs in a sandbox that reaches nothing but these tools.',
  '- Top-level `await` and `return` work. Return small plain data, which you will read: filter and count in the script.',
  '- `await tools.NAME({ … })` calls a tool, such as `await tools.mcp.server.search({ query: "x" })`; `Promise.all` makes independent calls at once. A failed call throws.',
  '- `console.log(…)` is for you, `text(…)` for the user. There are no imports, network or files besides the tools.',
  '- After a failure you get the error with its line and the completed calls: continue from there, and do not repeat a call that the user denied.',
].join('\n');

const SEARCH =
  'Search first: `search_tools` finds the names of tools by words, and `describe_tools` returns their declarations. Do not guess names or arguments.';

/** The texts about the tools of the harness. `isComplete`: whether no tools are missing. */
export function currentOffer(harness: Harness, isComplete = true): GatewayOffer {
  const names = toolNames(harness);
  return {
    description: scriptDescription(harness, names, isComplete),
    instructions: connectInstructions(names, isComplete),
    namespaces: [...new Set(names.map(toolNamespace))],
  };
}

/**
 * The description of `run_script`: the declarations of all tools if they fit, otherwise the way to find them. A client
 * may keep it, so it says if tools are missing (`isComplete` is false).
 */
function scriptDescription(harness: Harness, names: readonly string[], isComplete: boolean): string {
  const room = MAX_DESCRIPTION - (isComplete ? 0 : MISSING.length);
  const end = isComplete ? '' : MISSING;
  const whole = wholeDescription(harness, names, room);
  if (whole !== undefined && (isComplete || names.length > 0)) return `${whole}${end}`;
  if (names.length === 0) return `${GUIDE}\n\n${SEARCH}${end}`;
  return `${GUIDE}\n\n${SEARCH}\n\n${namespaces(names, room - GUIDE.length - SEARCH.length - 4)}${end}`;
}

/** The declarations of all tools; undefined if they do not fit. */
function wholeDescription(harness: Harness, names: readonly string[], room: number): string | undefined {
  if (names.length * MIN_DECLARATION > room) return undefined;
  // Without what results looked like, the declarations may fit.
  for (const resultTypes of [true, false]) {
    const text = harness.instructions({ carrier: 'tool', tokenBudget: MAX_DESCRIPTION, resultTypes });
    if (text.length <= room && names.every((name) => text.includes(lastPart(name)))) return text;
  }
  return undefined;
}

/** Minimum characters of a declaration: `a(): …`. Declarations of many tools are not written in vain. */
const MIN_DECLARATION = 10;

/** The end of a description while tools are missing. */
const MISSING = '\n\nTools are missing. `search_tools` finds those that come later, and says why others are missing.';

function connectInstructions(names: readonly string[], isComplete: boolean): string {
  const start =
    'Act by writing TypeScript for `run_script`: one script makes many calls, and returns only what you need.';
  const end =
    'If a script waits for a decision of the user, call `resume_script` with its `scriptId` after the user has decided. If a script still runs, call `wait_script` or `cancel_script`.';
  const missing = isComplete ? '' : MISSING;
  const room = MAX_DESCRIPTION - start.length - SEARCH.length - end.length - missing.length - 6;
  return `${[start, SEARCH, end, namespaces(names, room)].join('\n\n')}${missing}`;
}

/** The number of tools, and the namespaces with the most tools, each whole, as far as they fit. */
function namespaces(names: readonly string[], room: number): string {
  const counts = new Map<string, number>();
  for (const name of names) {
    const namespace = toolNamespace(name);
    counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  }
  const sorted = [...counts].toSorted(([, left], [, right]) => right - left);
  let text = `${names.length} tools in ${counts.size} ${counts.size === 1 ? 'namespace' : 'namespaces'}`;
  let shown = 0;
  for (const [namespace, count] of sorted) {
    const next = `${shown === 0 ? ':' : ','} ${namespace} (${count})`;
    if (namespace.length > MAX_NAMESPACE || text.length + next.length + MORE > room) continue;
    text += next;
    shown += 1;
  }
  return shown === counts.size ? `${text}.` : `${text}${shown === 0 ? '.' : `, and ${counts.size - shown} more.`}`;
}

/** The room for the number of namespaces that are not shown. */
const MORE = ', and 999999 more.'.length;

const toolNames = (harness: Harness) =>
  harness
    .catalog()
    .list()
    .map(({ name }) => name);

const toolNamespace = (name: string) => name.slice(0, Math.max(0, name.lastIndexOf('.'))) || 'tools';

const lastPart = (name: string) => name.slice(name.lastIndexOf('.') + 1);
