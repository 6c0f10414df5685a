import { insteadOf } from '../text/missing-names.js';
import { nearestNames } from '../text/nearest-names.js';
import type { Edit } from './edits.js';
import type { RepairNote } from './repair.js';
import type { SyntaxIndex } from './syntax-index.js';
import { memberName } from './syntax.js';
import { fittingTool } from './tool-fit.js';
import type { TreeRepair } from './tree-repair.js';
import type { Visit } from './walk.js';

/** What a script has without declaring it, beside the language's own globals. */
const GIVEN = new Set(['catalog', 'console', 'context', 'emit', 'sleep', 'text', 'tools']);

/**
 * Puts `tools.` before the name of a tool that is called without it, where exactly one tool fits: `read_file(…)`,
 * `github.list(…)`, `codemode.add(…)`. Where none fits by its name, a note says which may be meant.
 */
export function repairToolNames(
  index: SyntaxIndex,
  text: string,
  toolNames: readonly string[] | undefined,
): TreeRepair | undefined {
  // A script that has a variable of that name speaks of its own tools.
  if (toolNames === undefined || toolNames.length === 0 || index.declared.has('tools')) return undefined;
  const edits: Edit[] = [];
  const notes = new Map<string, RepairNote>();
  for (const [name, visits] of index.references) {
    if (index.declared.has(name) || GIVEN.has(name) || Object.hasOwn(globalThis, name)) continue;
    for (const visit of visits) {
      const bare = bareName(visit);
      if (bare === undefined) continue;
      const tool = fittingTool(bare.path, toolNames);
      if (tool !== undefined) edits.push({ start: visit.node.start, end: bare.end, text: `tools.${tool}` });
      const written = text.slice(visit.node.start, bare.end);
      const note = tool === undefined ? hintFor(bare.path, written, toolNames) : boundNote(written, tool);
      if (note !== undefined && !notes.has(written)) notes.set(written, { ...note, offset: visit.node.start });
    }
  }
  if (notes.size === 0) return undefined;
  return {
    edits: edits.toSorted((left, right) => left.start - right.start),
    notes: [...notes.values()].toSorted((left, right) => left.offset - right.offset),
  };
}

/** A name that is called, or handed over to be called, with the members that lead from it to the function. */
function bareName(visit: Visit): { path: string[]; end: number } | undefined {
  const path = [(visit.node as { name: string }).name];
  let at = visit;
  while (at.parent?.node.type === 'MemberExpression' && at.key === 'object') {
    const name = memberName(at.parent.node);
    if (name === undefined || at.parent.node.optional) return undefined;
    path.push(name);
    at = at.parent;
  }
  if (at.parent?.node.type !== 'CallExpression') return undefined;
  const isMeant = at.key === 'callee' || (at.key === 'arguments' && at !== visit) || isCallback(at);
  return isMeant ? { path, end: at.node.end } : undefined;
}

/** `ids.map(getUser)`. */
function isCallback({ key, parent }: Visit): boolean {
  return (
    key === 'arguments' && parent?.node.type === 'CallExpression' && parent.node.callee.type === 'MemberExpression'
  );
}

type NoteText = Omit<RepairNote, 'offset'>;

function boundNote(written: string, tool: string): NoteText {
  return {
    code: 'repair-tool-name',
    message: `\`${written}\` was read as \`tools.${tool}\`: tools are members of \`tools\`.`,
    severity: 'info',
  };
}

function hintFor(path: readonly string[], written: string, toolNames: readonly string[]): NoteText | undefined {
  if (insteadOf(path[0] ?? '') !== undefined) return undefined;
  const nearest = nearestNames(path.at(-1) ?? '', toolNames);
  if (nearest.length === 0) return undefined;
  const meant = nearest.map((name) => `\`tools.${name}(…)\``).join(', ');
  return {
    code: 'bare-tool-name',
    message: `There is no \`${written}\`. Tools are members of \`tools\`; did you mean ${meant}?`,
    severity: 'warning',
  };
}
