import { applyEdits, blank, originalOffset, type Edit, type EditLayers } from '../syntax/source-text.js';
import { parseText, type ParsedText } from '../syntax/parse.js';
import { keywordArguments, otherLanguage, scriptOfForeignCalls } from './notation.js';
import { repairEntry } from './entry.js';
import { repairFloating } from './floating.js';
import { repairModules } from './modules.js';
import { repairPositions, type ParametersByTool } from './positional.js';
import { repairTimers } from './timers.js';
import { repairToolNames } from './tool-names.js';
import { indexSyntax, type SyntaxIndex } from '../syntax/syntax-index.js';
import type { RepairNote, TreeRepair } from './tree-repair.js';
import { walk } from '../syntax/syntax.js';

/**
 * A script after its repairs. `text` is the text that was finally parsed: the model's own text with `layers` applied.
 */
export type RepairedScript = {
  readonly text: string;
  readonly layers: EditLayers;
  readonly notes: readonly RepairNote[];
} & (
  | { readonly ok: true; readonly index: SyntaxIndex }
  | {
      readonly ok: false;
      readonly problems: Extract<ParsedText, { ok: false }>['problems'];
    }
);

/**
 * Repairs common mistakes of models in a script, and parses the script. Repairs that are valid for any text replace
 * characters in place. Other repairs are made only if the text does not parse, or if the syntax tree shows that they
 * are needed. If no repair helps, the problems are those of the original text.
 */
export function parseWithRepairs(source: string, names: KnownNames = {}): RepairedScript {
  const surface = repairSurface(source);
  const foreign = readNotation(surface, names.toolNames);
  if (foreign !== undefined && 'ok' in foreign) return foreign;
  return parseDraft(foreign ?? surface, names);
}

/** The names that a script can use, besides those of the language. */
export interface KnownNames {
  /** The names of tools as scripts write them. Omitted: no name is treated as the name of a tool. */
  readonly toolNames?: readonly string[] | undefined;
  /** The parameters of the tools that the script calls by position. Omitted: such calls stay as they are. */
  readonly parameters?: ParametersByTool | undefined;
  /** See `indexSyntax`. */
  readonly keptNames?: readonly string[] | undefined;
}

function parseDraft(surface: Draft, names: KnownNames): RepairedScript {
  const parsed = parseText(surface.text);
  if (parsed.ok) {
    const python = keywordArguments(surface.text);
    if (python !== undefined) return { ...surface, ok: false, problems: [python] };
    return repairParsedScript(surface, parsed, names);
  }
  for (const candidate of candidates(surface)) {
    const retried = parseText(candidate.text);
    if (retried.ok) return repairProgram(candidate, indexSyntax(retried.program, names.keptNames), names);
  }
  const other = otherLanguage(surface.text);
  return {
    ...surface,
    ok: false,
    problems: other === undefined ? parsed.problems : [other],
  };
}

/**
 * Reads calls in the notation of another system as a script. Refuses such calls if they name an unknown tool or cannot
 * be read. Undefined for a script.
 */
function readNotation(
  draft: Draft,
  toolNames: readonly string[] | undefined,
): Draft | Extract<RepairedScript, { ok: false }> | undefined {
  if (toolNames === undefined) return undefined;
  const read = scriptOfForeignCalls(draft.text, toolNames);
  if (read === undefined) return undefined;
  if (!('script' in read)) return { ...draft, ok: false, problems: [read] };
  return next(draft, replacement(draft.text, read.script), {
    code: 'repair-notation',
    message: read.message,
    severity: 'warning',
    offset: 0,
  });
}

interface Draft {
  readonly text: string;
  readonly layers: EditLayers;
  readonly notes: readonly RepairNote[];
}

// Repairs that are valid for any text. They keep every position.

/**
 * Matches an opening fence that does not contain a diff. A diff would parse, because the parser reads its marks as
 * signs before each line.
 */
const OPENING_FENCE = /^\s*`{3,}(?![ \t]*(?:diff|patch)\b)[^\n`]*(?:\r?\n|$)/;
const CLOSING_FENCE = /(?:^|[\r\n])[ \t]*`{3,}\s*$/;
/** The tags of a block, around a script that arrives without them. */
const BLOCK_TAGS = /^\s*<tool[-_]calls(?:\s[^<>\n]{0,100})?>/i;
const CLOSING_TAG = /<\/tool[-_]calls>\s*$/i;
const HASHBANG = /^#![^\r\n]*/;
const LANGUAGE_WORD = /^\s*(?:[tj]sx?|typescript|javascript)(?=[ \t]*[\r\n])/i;

function repairSurface(source: string): Draft {
  const notes: RepairNote[] = [];
  let text = source;
  if (text.startsWith('\ufeff')) text = ` ${text.slice(1)}`;
  const halves = text.search(/\p{Surrogate}/u);
  if (halves >= 0) {
    text = text.replace(/\p{Surrogate}/gu, '\ufffd');
    notes.push(
      note('repair-surrogate', 'Half of a surrogate pair is not a character; it was replaced with U+FFFD.', halves),
    );
  }
  const fence = OPENING_FENCE.exec(text);
  if (fence !== null) {
    text = blankOut(text, 0, fence[0].length);
    text = blankLastFence(text);
    notes.push(note('repair-fence', 'The ``` fence around the script was removed.', fence[0].search(/`/)));
  }
  const word = LANGUAGE_WORD.exec(text);
  if (word !== null && fence === null) {
    text = blankOut(text, 0, word[0].length);
    notes.push(
      note('repair-language', 'The name of the language before the script was removed.', word[0].search(/\w/)),
    );
  }
  const tags = BLOCK_TAGS.exec(text);
  if (tags !== null) {
    text = blankOut(text, 0, tags[0].length);
    const closing = CLOSING_TAG.exec(text);
    if (closing !== null) text = blankOut(text, closing.index, text.length);
    notes.push(note('repair-tags', 'The tags around the script were removed.', tags[0].search(/</)));
  }
  const hashbang = HASHBANG.exec(text);
  if (hashbang !== null) {
    text = blankOut(text, 0, hashbang[0].length);
    notes.push(note('repair-hashbang', 'The #! line was removed.', 0));
  }
  return { text, layers: text === source ? [] : [replacement(source, text)], notes };
}

function blankLastFence(text: string): string {
  const fence = CLOSING_FENCE.exec(text);
  return fence === null ? text : blankOut(text, fence.index, text.length);
}

function blankOut(text: string, start: number, end: number): string {
  return text.slice(0, start) + blank(text.slice(start, end)) + text.slice(end);
}

/** The edits that replace the whole text with another text of the same length. */
function replacement(source: string, text: string): Edit[] {
  return [{ start: 0, end: source.length, text }];
}

// Repairs that are kept only if they make an unparsable text parse.

function* candidates(surface: Draft): Generator<Draft> {
  const unfenced = withoutLastFence(surface);
  if (unfenced !== undefined) yield unfenced;
  const alone = withoutProse(surface);
  if (alone !== undefined) yield alone;
  const decoded = withEntitiesDecoded(unfenced ?? surface);
  if (decoded !== undefined) yield decoded;
  const named = withFunctionAsExpression(decoded ?? unfenced ?? surface);
  if (named !== undefined) yield named;
}

function withoutLastFence(draft: Draft): Draft | undefined {
  const text = blankLastFence(draft.text);
  if (text === draft.text) return undefined;
  const offset = draft.text.lastIndexOf('```');
  return next(draft, replacement(draft.text, text), note('repair-fence', 'A stray ``` fence was removed.', offset));
}

const FENCE_LINE = /^[ \t]*`{3,}([^\n`]*)$/gm;
const SCRIPT_FENCE = /^\s*(?:[tj]sx?|typescript|javascript)\b/i;

/**
 * The draft without the prose around its fence: only the text between the first and the last fence line stays. If the
 * text contains only one fence line, the code ends at this line if the script began with a fence (already blanked), and
 * starts after this line if the line opens a block of code.
 */
function withoutProse(draft: Draft): Draft | undefined {
  const lines = [...draft.text.matchAll(FENCE_LINE)];
  const [first] = lines;
  const last = lines.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const isOpened = draft.notes.some(({ code }) => code === 'repair-fence');
  // A single fence without a language may follow broken code, with prose after the fence. This prose is not the script.
  const word = (first[1] ?? '').trim();
  const isScript = SCRIPT_FENCE.test(word) || (word === '' && lines.length > 1);
  if (!isOpened && !isScript) return undefined;
  const start = isOpened ? 0 : first.index + first[0].length;
  const end = isOpened || lines.length > 1 ? last.index : draft.text.length;
  if (draft.text.slice(start, end).trim() === '') return undefined;
  const before = isOpened ? '' : draft.text.slice(0, first.index);
  const after = draft.text.slice(end === last.index ? end + last[0].length : end);
  if (!isProse(before) || !isProse(after)) return undefined;
  const text = blankOut(blankOut(draft.text, end, draft.text.length), 0, start);
  const message = 'The text around the ``` fence was removed.';
  return next(draft, replacement(draft.text, text), note('repair-prose', message, first.index));
}

const CODE = /\/\*|\*\/|=>|\btools\.\w|\bawait\s+\w+[.(]|\b(?:const|let|var)\s+[\w$[{][^\n]{0,200}=|[;{}()]\s*$/mu;

/**
 * Whether the text around a fence is prose. A fence inside a string or a comment does not delimit the script, and the
 * text around such a fence is code.
 */
function isProse(text: string): boolean {
  const quotes = text.split('`').length - 1;
  return quotes % 2 === 0 && !CODE.test(text);
}

const ENTITIES: Record<string, string> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  '#60': '<',
  '#62': '>',
  '#38': '&',
  '#34': '"',
  '#39': "'",
  '#x3c': '<',
  '#x3e': '>',
  '#x26': '&',
  '#x22': '"',
  '#x27': "'",
};

function withEntitiesDecoded(draft: Draft): Draft | undefined {
  const edits = entitiesIn(draft.text);
  return (IS_PARTLY_ESCAPED.test(draft.text) ? decodedCode(draft, edits) : undefined) ?? decodedBy(draft, edits);
}

/**
 * Matches a text with unescaped characters. Such a text was not escaped as a whole, so its entities may be intended.
 */
const IS_PARTLY_ESCAPED = /[<>]|&(?!#?\w{2,5};)/u;

function entitiesIn(text: string): Edit[] {
  return [...text.matchAll(/&(#?\w{2,5});/g)].flatMap((match) => {
    const character = ENTITIES[(match[1] ?? '').toLowerCase()];
    const start = match.index;
    return character === undefined ? [] : [{ start, end: start + match[0].length, text: character }];
  });
}

/**
 * Decodes the entities outside of literals. Entities in literals stay, because a decoded quote would end its literal.
 */
function decodedCode(draft: Draft, edits: readonly Edit[]): Draft | undefined {
  const markless = edits.filter(({ text }) => !/["']/u.test(text));
  const parsed = parseText(applyEdits(draft.text, markless));
  if (!parsed.ok) return undefined;
  const literals: { start: number; end: number }[] = [];
  walk(parsed.program, ({ node }) => {
    if (node.type === 'Literal' || node.type === 'TemplateElement')
      literals.push({ start: originalOffset(node.start, [markless]), end: originalOffset(node.end, [markless]) });
  });
  literals.sort((left, right) => left.start - right.start);
  let next = 0;
  const inCode = markless.filter(({ start }) => {
    while ((literals[next]?.end ?? Infinity) <= start) next++;
    return start < (literals[next]?.start ?? Infinity);
  });
  return decodedBy(draft, inCode);
}

function decodedBy(draft: Draft, edits: readonly Edit[]): Draft | undefined {
  const [first] = edits;
  return first === undefined ? undefined : next(draft, edits, entityNote(first.start));
}

function entityNote(offset: number): RepairNote {
  return note(
    'repair-entities',
    'HTML entities such as &lt; and &amp; were read as the characters that they represent.',
    offset,
  );
}

/**
 * Puts `async function () { … }` into parentheses: alone, it is not a statement, but in parentheses it is an
 * expression.
 */
function withFunctionAsExpression(draft: Draft): Draft | undefined {
  const start = /^\s*(?=(?:async\s+)?function\s*\()/.exec(draft.text)?.[0].length;
  if (start === undefined) return undefined;
  const end = draft.text.replace(/(?<![\s;])[\s;]+$/, '').length;
  const edits = [
    { start, end: start, text: '(' },
    { start: end, end, text: ')' },
  ];
  return { ...draft, ...draftWithEdits(draft, edits) };
}

function next(draft: Draft, edits: readonly Edit[], added: RepairNote): Draft {
  return { ...draftWithEdits(draft, edits), notes: [...draft.notes, added] };
}

function draftWithEdits(draft: Draft, edits: readonly Edit[]): Pick<Draft, 'text' | 'layers'> {
  return { text: applyEdits(draft.text, edits), layers: [...draft.layers, edits] };
}

// Repairs that the syntax tree shows to be needed.

type ParsedScript = Extract<ParsedText, { ok: true }>;

/**
 * Decodes entities in a script that parses: `a &lt; b` parses as `a & lt; b`. Only this exact form counts as an entity,
 * and only outside of literals.
 */
function repairParsedScript(draft: Draft, parsed: ParsedScript, names: KnownNames): RepairedScript {
  const index = indexSyntax(parsed.program, names.keptNames);
  const decoded = withAccidentalEntitiesDecoded(draft, index);
  const retried = decoded === undefined ? undefined : parseText(decoded.text);
  if (decoded === undefined || retried?.ok !== true) return repairProgram(draft, index, names);
  return repairProgram(decoded, indexSyntax(retried.program, names.keptNames), names);
}

function withAccidentalEntitiesDecoded(draft: Draft, index: SyntaxIndex): Draft | undefined {
  const edits: Edit[] = [];
  for (const name of ['lt', 'gt', 'amp', 'quot']) {
    if (index.declared.has(name)) continue;
    for (const { node, key, parent } of index.references.get(name) ?? []) {
      const isOperand = parent?.node.type === 'BinaryExpression' && parent.node.operator === '&' && key === 'right';
      const isWritten = draft.text[node.start - 1] === '&' && draft.text[node.end] === ';';
      if (isOperand && isWritten) edits.push({ start: node.start - 1, end: node.end + 1, text: ENTITIES[name]! });
    }
  }
  edits.sort((left, right) => left.start - right.start);
  return decodedBy(draft, edits);
}

type TreeRepairer = (
  index: SyntaxIndex,
  text: string,
  toolNames: readonly string[] | undefined,
  parameters: ParametersByTool | undefined,
) => TreeRepair | undefined;

/** The order matters: an import defines names, a name leads to calls, a call yields values. */
const TREE_REPAIRS: readonly TreeRepairer[] = [
  repairModules,
  repairToolNames,
  (index, _text, _toolNames, parameters) => (parameters === undefined ? undefined : repairPositions(index, parameters)),
  repairTimers,
  repairFloating,
  repairEntry,
];

function repairProgram(draft: Draft, index: SyntaxIndex, names: KnownNames): RepairedScript {
  let script: Extract<RepairedScript, { ok: true }> = { ...draft, ok: true, index };
  for (const repairer of TREE_REPAIRS) {
    const repair = repairer(script.index, script.text, names.toolNames, names.parameters);
    if (repair !== undefined) script = withTreeRepair(script, repair, names);
  }
  return script;
}

/** Applies a repair. Returns the original script if the repaired one does not parse. */
function withTreeRepair(
  script: Extract<RepairedScript, { ok: true }>,
  { edits, notes }: TreeRepair,
  { keptNames }: KnownNames,
): Extract<RepairedScript, { ok: true }> {
  const repaired = edits.length === 0 ? script : { ...script, ...draftWithEdits(script, edits) };
  const again = edits.length === 0 ? undefined : parseText(repaired.text);
  if (again?.ok === false) return script;
  const placed = notes.map((added) => ({ ...added, offset: originalOffset(added.offset, script.layers) }));
  return {
    ...repaired,
    notes: [...script.notes, ...placed],
    index: again === undefined ? script.index : indexSyntax(again.program, keptNames),
  };
}

function note(code: string, message: string, offset: number): RepairNote {
  return { code, message, severity: 'info', offset };
}
