import { missingNameAdvice } from '../../text/missing-names.js';
import type { Edit } from '../syntax/source-text.js';
import { GIVEN } from '../analyse/known-names.js';
import type { SyntaxIndex } from '../syntax/syntax-index.js';
import { isWritten, memberName, type Visit } from '../syntax/syntax.js';
import { ToolFit } from '../../text/tool-fit.js';
import type { RepairNote, TreeRepair } from './tree-repair.js';

/** Maximum number of unknown names that are reported, because looking for similar names takes time. */
const MAX_HINTS = 5;
const MAX_SUGGESTIONS = 3;

/**
 * Inserts `tools.` before the name of a tool that a script calls without this prefix, if exactly one tool fits:
 * `read_file(…)`, `github.list(…)`, `codemode.add(…)`. Inserts the namespace into `tools.search_code(…)`, if only one
 * namespace has this tool. If no tool fits, a note may name similar tools.
 */
export function repairToolNames(
  index: SyntaxIndex,
  text: string,
  toolNames: readonly string[] | undefined,
): TreeRepair | undefined {
  // A script that declares `tools` refers to its own tools.
  if (toolNames === undefined || toolNames.length === 0 || index.declared.has('tools')) return undefined;
  if (addsGlobals(index)) return undefined;
  const bare = bareNames(index);
  const direct = directNames(index).filter(({ name }) => !toolNames.includes(name));
  if (bare.length + direct.length === 0) return undefined;
  const fit = new ToolFit(toolNames);
  const edits: Edit[] = [];
  const notes = new Map<string, RepairNote>();
  for (const { name, start } of direct) {
    const namespace = fit.namespaceOf(name);
    if (namespace === undefined) continue;
    edits.push({ start, end: start, text: `${namespace}.` });
    const note = boundNote(`tools.${name}`, `tools.${namespace}.${name}`, 'only this namespace has the tool');
    notes.set(`tools.${name}`, { ...note, offset: start });
  }
  let hints = 0;
  for (const { path, start, end, isCalled } of bare) {
    const replacement = isCalled ? fit.fitting(path) : fit.holder(path[0] as string);
    const source = text.slice(start, end);
    if (replacement !== undefined) edits.push(bindingEdit({ path, start, end }, replacement));
    if (notes.has(source) || (replacement === undefined && (!isCalled || ++hints > MAX_HINTS))) continue;
    const note =
      replacement === undefined
        ? hintFor(path, source, fit)
        : boundNote(source, replacement, 'tools are members of `tools`');
    if (note !== undefined) notes.set(source, { ...note, offset: start });
  }
  return notes.size === 0 ? undefined : { edits, notes: [...notes.values()] };
}

/** After `globalThis.save = …` or `Object.assign(globalThis, …)`, the script's own functions may have any name. */
function addsGlobals({ references }: SyntaxIndex): boolean {
  return (references.get('globalThis') ?? []).some(({ key, parent }) => {
    if (parent?.node.type !== 'MemberExpression') return key === 'arguments' || key === 'init' || key === 'right';
    return key === 'object' && isWritten(parent);
  });
}

/** The names in calls like `tools.search_code(…)`, with the offset of the name. */
function directNames({ references }: SyntaxIndex): { name: string; start: number }[] {
  return (references.get('tools') ?? []).flatMap(({ key, parent }) => {
    const member = parent?.node;
    if (key !== 'object' || member?.type !== 'MemberExpression' || member.computed || member.optional) return [];
    const call = parent?.parent?.node;
    const isCalled = parent?.key === 'callee' && call?.type === 'CallExpression' && !call.optional;
    return isCalled && member.property.type === 'Identifier'
      ? [{ name: member.property.name, start: member.property.start }]
      : [];
  });
}

interface BareName {
  /** The segments of the name, including the members up to the function: `github` and `list` for `github.list(…)`. */
  readonly path: readonly string[];
  readonly start: number;
  readonly end: number;
  /** False if the name denotes an object that contains tools: `const { list } = github`. */
  readonly isCalled: boolean;
}

/** Changes only the beginning of the name, and keeps the text between its segments, which may contain line breaks. */
function bindingEdit({ path, start, end }: Omit<BareName, 'isCalled'>, replacement: string): Edit {
  const [root = '', ...members] = path;
  if (members.length === 0) return { start, end, text: replacement };
  const source = `.${path.join('.')}`;
  return replacement.endsWith(source)
    ? { start, end: start, text: replacement.slice(0, 1 - source.length) }
    : { start, end: start + root.length, text: 'tools' };
}

/**
 * Names of functions, and of objects that contain functions, in source order. The names are used without `tools`, and
 * belong neither to the script nor to the language.
 */
function bareNames({ references, declared }: SyntaxIndex): BareName[] {
  return [...references]
    .filter(([name]) => !declared.has(name) && !GIVEN.has(name) && !Object.hasOwn(globalThis, name))
    .flatMap(([, visits]) => visits.flatMap(bareName))
    .toSorted((left, right) => left.start - right.start);
}

/** The bare name, if it is called, passed on to be called, or used for its members; otherwise empty. */
function bareName(visit: Visit): BareName[] {
  const path = [(visit.node as { name: string }).name];
  const { start } = visit.node;
  if (holdsMembers(visit)) return [{ path, start, end: visit.node.end, isCalled: false }];
  let at = visit;
  while (at.parent?.node.type === 'MemberExpression' && at.key === 'object') {
    const name = memberName(at.parent.node);
    if (name === undefined || at.parent.node.optional) return [];
    path.push(name);
    at = at.parent;
  }
  if (at.parent?.node.type !== 'CallExpression') return [];
  const isMeant = at.key === 'callee' || (at.key === 'arguments' && at !== visit) || isCallback(at);
  return isMeant ? [{ path, start, end: at.node.end, isCalled: true }] : [];
}

/** Whether the name is used as an object: `const { list } = github`, `const gh = github`, `github[name](…)`. */
function holdsMembers({ key, parent }: Visit): boolean {
  if (parent?.node.type === 'VariableDeclarator') return key === 'init';
  return parent?.node.type === 'MemberExpression' && key === 'object' && memberName(parent.node) === undefined;
}

/** Whether the name is passed to a method as a callback: `ids.map(getUser)`. */
function isCallback({ key, parent }: Visit): boolean {
  return (
    key === 'arguments' && parent?.node.type === 'CallExpression' && parent.node.callee.type === 'MemberExpression'
  );
}

type NoteText = Omit<RepairNote, 'offset'>;

function boundNote(source: string, replacement: string, reason: string): NoteText {
  return {
    code: 'repair-tool-name',
    message: `\`${source}\` was read as \`${replacement}\`: ${reason}.`,
    severity: 'info',
  };
}

/**
 * Reports the likely tools, or that the name for all tools is `tools`. A name that is similar to no tool may be a
 * missing function of the script.
 */
function hintFor(path: readonly string[], source: string, fit: ToolFit): NoteText | undefined {
  const [first = ''] = path;
  const similar = fit.similar(path).slice(0, MAX_SUGGESTIONS);
  const isReceiver = path.length > 1 && fit.isReceiver(first);
  if (missingNameAdvice(first) !== undefined || (similar.length === 0 && !isReceiver)) return undefined;
  const replacement = similar.map((name) => `\`tools.${name}(…)\``).join(', ');
  const question = similar.length === 0 ? '.' : `; did you mean ${replacement}?`;
  return {
    code: 'bare-tool-name',
    message: `There is no \`${similar.length === 0 ? first : source}\`. Tools are members of \`tools\`${question}`,
    severity: 'warning',
  };
}
