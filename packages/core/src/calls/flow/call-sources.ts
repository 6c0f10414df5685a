import { present, type JsonValue } from '../../protocol/json.js';
import type { Operation } from '../../protocol/operations.js';
import type {
  ArgumentOrigin,
  FlowCall,
  FlowFinding,
  FlowPolicy,
  LiteralLabel,
  Provenance,
  ScriptOrigin,
} from '../../protocol/provenance.js';
import type { LiteralMembers } from '../../protocol/saved-script.js';
import type { CompiledScript } from '../../protocol/script.js';
import type { Tool } from '../../protocol/tools.js';
import { argumentSources, type EarlierCall } from '../../text/argument-sources.js';
import { writtenNames } from '../../text/identifier-name.js';
import { callIdIndex } from '../facade/call-ids.js';
import { ArgumentLabels, type LabelledSource, type LabelledSources } from './argument-labels.js';
import { isGuarded, argumentLeaves, type Leaf } from './call-leaves.js';
import type { SourcePart } from './label-reports.js';
import type { LabelledCopy } from './labelled-copy.js';
import { commonReaders, mayReach } from './readers.js';
import { PAGE_TOOL, partLabel, resultParts, type InputLabel, type ResultPart } from './result-parts.js';
import { isQuoted, isVerbatim } from './verbatim.js';

/** Whether the tool, or the host's policy, has a rule about the sources of the tool's arguments. */
export function guardsSources({ flow, effect }: Tool, policy: FlowPolicy | undefined): boolean {
  return (
    (flow?.trusted?.length ?? 0) > 0 || flow?.readersOf !== undefined || (policy !== undefined && effect !== 'read')
  );
}

/** The part of a script that labels depend on. Undefined: a structured call, whose arguments are all literals. */
export type FlowScript = Pick<CompiledScript, 'source' | 'plan' | 'given' | 'linked'>;

export interface CallSourcesSettings {
  readonly script: FlowScript | undefined;
  readonly origin: ScriptOrigin | undefined;
  readonly policy: FlowPolicy | undefined;
  readonly tool: (name: string) => Tool | undefined;
  /** Starts a copy of the script, which finds labels. Undefined: there is none for this script. */
  readonly openCopy?: (() => Promise<LabelledCopy | undefined>) | undefined;
}

/** A call whose arguments are judged. */
export interface JudgedCall extends FlowCall {
  readonly line: number | undefined;
}

/** The values of the arguments, and what is known about each. */
interface Judged {
  readonly sources: readonly LeafSources[];
  readonly isComplete: boolean;
  readonly parts: EarlierParts;
  readonly labels: ArgumentLabels | undefined;
}

interface LeafSources {
  readonly leaf: Leaf;
  readonly literal: LiteralLabel | undefined;
  readonly origins: readonly ArgumentOrigin[];
  /** The calls whose results have selected the value. */
  readonly selectedBy: readonly ArgumentOrigin[];
  /** True: the value is a literal of this call itself, or its sources are known from its labels. */
  readonly isProven: boolean;
  /** The reason why untrusted text may have chosen the value; undefined if it has not. */
  readonly doubt: string | undefined;
}

/** The parts of the results of the calls before a call. */
interface EarlierParts {
  readonly all: readonly PlacedPart[];
  readonly trusted: readonly PlacedPart[];
  readonly untrusted: readonly PlacedPart[];
  /** The untrusted texts, in which even short values are searched. Written on demand. */
  readonly text: () => string;
  /** The texts and numbers of the trusted results. Read on demand. */
  readonly trustedValues: () => ReadonlySet<string | number>;
}

interface PlacedPart extends ResultPart, EarlierCall {
  /** The position of the call, starting at 1. */
  readonly call: number;
}

/**
 * Finds the sources of the arguments of one script's calls: literals, and the results of earlier calls by their content.
 * The result of a trusted tool counts as untrusted if untrusted text may have chosen an argument of its call.
 */
export class CallSources {
  readonly #settings: CallSourcesSettings;
  /** The labels of the arguments of ended calls, by the ids of the calls. */
  readonly #inputs = new Map<string, InputLabel>();
  #copy: LabelledCopy | undefined;
  #opening: Promise<void> | undefined;

  constructor(settings: CallSourcesSettings) {
    this.#settings = settings;
  }

  /** Whether a rule is about the sources of the tool's arguments. */
  guards(tool: Tool): boolean {
    return guardsSources(tool, this.#settings.policy);
  }

  /**
   * Learns the sources of the call's arguments if they are not known from the text of the call. Undefined: nothing is to
   * be learnt. Never rejects. `earlier`: as for `finding`.
   */
  learn(call: JudgedCall, earlier: readonly Operation[]): Promise<void> | undefined {
    const { openCopy, policy } = this.#settings;
    if (openCopy === undefined) return undefined;
    const { trusted = [], readersOf, control } = this.#settings.tool(call.tool)?.flow ?? {};
    const hasReaders = readersOf !== undefined && this.#mayHaveReaders(earlier);
    const guarded = hasReaders ? [...trusted, readersOf] : trusted;
    const known = this.#literalsOf(call);
    const isOpen = (leaf: Leaf) =>
      (policy !== undefined || isGuarded(leaf.path, guarded)) && !known.some((members) => isMember(members, leaf));
    const { leaves } = argumentLeaves(call.input);
    if (control !== true && !leaves.some(isOpen) && !(hasReaders && isDivided(leaves, readersOf))) return undefined;
    this.#opening ??= this.#open(openCopy);
    return this.#opening.then(() => this.#reach(callIdIndex(call.callId)));
  }

  /** Whether a result may have a part with readers. */
  #mayHaveReaders(earlier: readonly Operation[]): boolean {
    return earlier.some(({ tool }) => this.#settings.tool(tool)?.labels !== undefined);
  }

  async #open(openCopy: NonNullable<CallSourcesSettings['openCopy']>): Promise<void> {
    // Without a copy, the sources are not known.
    this.#copy = await openCopy().catch(() => undefined);
  }

  async #reach(callIndex: number): Promise<void> {
    await this.#copy?.reached(callIndex);
    // Calls that were judged by their content are judged again by their labels.
    this.#inputs.clear();
  }

  /** `earlier`: the operations of the script before the call, in call order. */
  finding(call: JudgedCall, earlier: readonly Operation[]): FlowFinding {
    const { trusted = [], readersOf, readBy, control } = this.#settings.tool(call.tool)?.flow ?? {};
    const judged = this.#judge(call, earlier);
    const { sources, isComplete } = judged;
    const hasReaders = readersOf !== undefined && judged.parts.all.some(({ readers }) => readers !== undefined);
    const guarded = hasReaders ? [...trusted, readersOf] : trusted;
    const watched = sources.filter(({ leaf }) => isGuarded(leaf.path, guarded));
    const doubts = watched.flatMap(({ leaf, doubt }) =>
      doubt === undefined || !isGuarded(leaf.path, trusted) ? [] : [[leaf.path, doubt] as const],
    );
    if (hasReaders) doubts.push(...readerDoubts(judged, readersOf, readBy!));
    const branch = control === true ? callBranch(judged) : NO_BRANCH;
    if (branch.doubt !== undefined) doubts.push(['', branch.doubt]);
    if (!isComplete && guarded.length > 0) doubts.push(['', 'there are too many arguments to compare']);
    const provenance: Provenance = {
      guarded: watched.map(({ leaf }) => leaf.path),
      arguments: Object.fromEntries(sources.filter(hasOrigins).map(({ leaf, origins }) => [leaf.path, origins])),
      ...selections(sources),
      ...(branch.origins.length > 0 && { control: branch.origins }),
      literals: Object.fromEntries(
        sources.flatMap(({ leaf, literal }) => (literal === undefined ? [] : [[leaf.path, literal] as const])),
      ),
      status: isComplete && branch.isProven && watched.every(({ isProven }) => isProven) ? 'proven' : 'unknown',
      reasons: Object.fromEntries(doubts),
    };
    const reason = doubts.map(([path, doubt]) => (path === '' ? doubt : `the argument "${path}" ${doubt}`)).join('; ');
    return { provenance, isDoubtful: doubts.length > 0, reason, policy: () => this.#askPolicy(call, provenance) };
  }

  /** The label that the arguments give to the result of the call. */
  inputLabel(call: JudgedCall, earlier: readonly Operation[]): InputLabel {
    const { sources, isComplete, parts, labels } = this.#judge(call, earlier);
    const whole = labels?.all();
    const isLiteral = isComplete && sources.every(({ isProven, origins }) => isProven && origins.length === 0);
    // A value of unknown source may be of each part.
    const found = whole?.isComplete === true ? whole.placed : isLiteral ? [] : parts.all;
    return {
      isTainted: !isComplete || sources.some(({ doubt }) => doubt !== undefined),
      readers: commonReaders(found.map(({ readers }) => readers)),
    };
  }

  async #askPolicy(call: JudgedCall, provenance: Provenance): Promise<'allow' | 'ask' | 'deny'> {
    const { policy } = this.#settings;
    if (policy === undefined) return 'allow';
    try {
      const { line: _line, ...seen } = call;
      const answer: unknown = await policy(seen, provenance);
      // defence: odd-answers-of-flow-policies-ask
      return answer === 'allow' || answer === 'deny' ? answer : 'ask';
    } catch {
      return 'ask';
    }
  }

  #judge(call: JudgedCall, earlier: readonly Operation[]): Judged {
    const parts = this.#partsOf(earlier);
    const { leaves, isComplete } = argumentLeaves(call.input);
    const known = this.#literalsOf(call);
    const labels = this.#labelsOf(call, earlier);
    const hasBranches = this.#settings.tool(call.tool)?.flow?.control === true;
    const ofCall = hasBranches ? labels?.control().placed : undefined;
    const sources = leaves.map((leaf) => {
      const labelled = labels?.sourcesOf(leaf);
      return labelled === undefined
        ? this.#sourcesOf(leaf, known, parts)
        : this.#labelledSources(leaf, withoutBranches(labelled, ofCall), parts, known);
    });
    return { sources, isComplete, parts, labels };
  }

  #partsOf(earlier: readonly Operation[]): EarlierParts {
    const parts = earlier.flatMap((operation, index) => {
      const { tool, line } = operation;
      const placed = resultParts(operation, this.#settings.tool(tool), this.#inputOf(index, earlier));
      return placed.map((part): PlacedPart => ({ ...part, tool, line, call: index + 1, result: part.value }));
    });
    const untrusted = parts.filter(({ trust }) => trust === 'untrusted');
    const trusted = parts.filter(({ trust }) => trust === 'trusted');
    let text: string | undefined;
    let values: ReadonlySet<string | number> | undefined;
    return {
      all: parts,
      untrusted,
      trusted,
      text: () => (text ??= untrusted.map(({ value }) => readableText(value)).join('\n')),
      trustedValues: () =>
        (values ??= new Set(
          trusted.flatMap((part) => argumentLeaves(part.value as JsonValue).leaves.map(({ value }) => value)),
        )),
    };
  }

  #inputOf(index: number, earlier: readonly Operation[]): InputLabel {
    const { callId, tool, effect, input, line } = earlier[index]!;
    if (tool === PAGE_TOOL) return { isTainted: false };
    const before = this.#inputs.get(callId);
    if (before !== undefined) return before;
    const call = { callId, tool, effect, line, input: input as JsonValue, scriptId: undefined, principal: undefined };
    const label = this.inputLabel(call, earlier.slice(0, index));
    this.#inputs.set(callId, label);
    return label;
  }

  #sourcesOf(leaf: Leaf, known: readonly LiteralMembers[], parts: EarlierParts): LeafSources {
    const isProven = this.#settings.script === undefined || known.some((members) => isMember(members, leaf));
    const untrusted = isProven ? [] : containingParts(leaf, parts.untrusted);
    const trusted = isProven ? [] : containingParts(leaf, parts.trusted);
    const origins = [...untrusted, ...trusted].map(
      ({ tool, call, line, from, trust, readers }) =>
        present({ tool, call, line, from, trust, readers }) as ArgumentOrigin,
    );
    const literal = this.#literalLabel(leaf, isProven);
    const judged = { leaf, literal, origins, selectedBy: [], isProven };
    const doubt = this.#doubt(judged, { parts, untrusted, isOfTrusted: isWholeIn(leaf, trusted, parts) });
    return { ...judged, doubt };
  }

  #labelsOf({ callId }: JudgedCall, earlier: readonly Operation[]): ArgumentLabels | undefined {
    const labels = this.#copy?.labelsOf(callIdIndex(callId));
    if (labels === undefined) return undefined;
    return new ArgumentLabels(labels, (source) => this.#placedSource(source, earlier));
  }

  /** A source, with its call. Undefined: the host does not know the call. */
  #placedSource({ call, part, way }: SourcePart, earlier: readonly Operation[]): LabelledSource | undefined {
    const index = earlier.findIndex(({ callId }) => callIdIndex(callId) === call);
    const operation = earlier[index];
    if (operation === undefined) return undefined;
    const { tool, line } = operation;
    const label = partLabel(operation, this.#settings.tool(tool), part, this.#inputOf(index, earlier));
    return { tool, line, call: index + 1, way, ...label };
  }

  #labelledSources(
    leaf: Leaf,
    { placed, isComplete }: LabelledSources,
    parts: EarlierParts,
    known: readonly LiteralMembers[],
  ): LeafSources {
    const isOwn = known.some((members) => isMember(members, leaf));
    const contents = placed.filter(({ way }) => way === 'content');
    const literal = contents.length === 0 || isOwn ? this.#unlabelledLiteral(leaf, isOwn) : this.#userLabel(leaf);
    const others = placed.filter(
      ({ way, call, from }) =>
        way !== 'content' && !contents.some((source) => source.call === call && source.from === from),
    );
    const judged = {
      leaf,
      literal,
      origins: contents.map(labelledOrigin),
      selectedBy: others.map(labelledOrigin),
      isProven: isComplete,
    };
    const [first] = [...contents, ...others].filter(({ trust }) => trust === 'untrusted');
    return { ...judged, doubt: this.#labelledDoubt(judged, first, parts) };
  }

  /** Like `#doubt`, for a value whose sources are known from its labels. `first`: its first untrusted source. */
  #labelledDoubt(
    { leaf, literal, isProven }: Pick<LeafSources, 'leaf' | 'literal' | 'isProven'>,
    first: LabelledSource | undefined,
    parts: EarlierParts,
  ): string | undefined {
    if (literal === 'user') return undefined;
    if (!isProven) return UNKNOWN_SOURCE;
    // defence: labelled-destinations-ask
    if (first !== undefined) return `${WAYS[first.way]} ${first.tool}${atLine(first.line)}, which is untrusted`;
    if (literal !== undefined) return literal === 'model' ? undefined : WRITTEN_AFTER;
    // A script that was written after reading may join trusted results and texts of its own into any value.
    return this.#wasWrittenAfter && !isWholeIn(leaf, [], parts) ? COMPUTED_AFTER : undefined;
  }

  /** The author of a value that no result has reached: it is written in the script, or in a saved script. */
  #unlabelledLiteral(leaf: Leaf, isOwn: boolean): LiteralLabel | undefined {
    const hasSaved = (this.#settings.script?.linked.length ?? 0) > 0;
    const found = this.#literalLabel(leaf, isOwn || !hasSaved);
    return found ?? (this.#wasWrittenAfter ? undefined : 'model');
  }

  #userLabel({ value }: Pick<Leaf, 'value'>): LiteralLabel | undefined {
    return this.#settings.origin?.userTexts.some((text) => isVerbatim(text, String(value))) === true
      ? 'user'
      : undefined;
  }

  /** The reason why untrusted text may have chosen the value, as a clause about the argument. */
  #doubt(
    { leaf, literal, isProven }: Pick<LeafSources, 'leaf' | 'literal' | 'isProven'>,
    found: { parts: EarlierParts; untrusted: readonly FoundPart[]; isOfTrusted: boolean },
  ): string | undefined {
    if (literal === 'user') return undefined;
    // defence: literals-written-after-reading-ask
    if (isProven) return literal === 'model' ? undefined : WRITTEN_AFTER;
    const { parts, untrusted, isOfTrusted } = found;
    if (parts.untrusted.length === 0 && !this.#startsWithUntrusted) return undefined;
    const [first] = untrusted;
    // defence: destinations-from-untrusted-text-ask
    if (first !== undefined) return `contains text from ${first.tool}${atLine(first.line)}, which is untrusted`;
    if (isVerbatim(parts.text(), String(leaf.value))) return 'contains text that an untrusted result contains';
    if (literal !== undefined) return literal === 'model' ? undefined : WRITTEN_AFTER;
    // defence: unknown-sources-ask
    return isOfTrusted ? undefined : UNKNOWN_SOURCE;
  }

  /** Whether untrusted text may be in the script before its first call. */
  get #startsWithUntrusted(): boolean {
    return this.#settings.origin?.holdsUntrusted === true || this.#wasWrittenAfter;
  }

  /** Whether the script, or a saved script that it runs, was written after untrusted text had been read. */
  get #wasWrittenAfter(): boolean {
    const { origin, script } = this.#settings;
    return origin?.hasReadUntrusted === true || script?.linked.some(({ untrusted }) => untrusted === true) === true;
  }

  #literalLabel({ value }: Leaf, isProven: boolean): LiteralLabel | undefined {
    const { script, origin } = this.#settings;
    if (this.#userLabel({ value }) === 'user') return 'user';
    const written: LiteralLabel = origin?.hasReadUntrusted === true ? 'tainted-model' : 'model';
    if (isProven || script === undefined) return written;
    const saved = script.linked.filter(({ source }) => isQuoted(source, value));
    // defence: saved-scripts-keep-their-label
    if (saved.some(({ untrusted }) => untrusted === true)) return 'tainted-model';
    if (isQuoted(script.source, value)) return written;
    return saved.length > 0 ? 'model' : undefined;
  }

  /** The literal members of the planned calls that this call may be. A call of a saved script has no line. */
  #literalsOf({ tool, line }: JudgedCall): readonly LiteralMembers[] {
    const { script } = this.#settings;
    if (script === undefined || line === undefined) return [];
    const names = writtenNames(tool);
    return script.plan.flatMap((planned, index) => {
      const given = script.given[index];
      return given && planned.line === line && names.includes(planned.tool) ? [given] : [];
    });
  }
}

const WAYS = {
  content: 'comes from',
  selection: 'was selected by',
  branch: 'was chosen in a branch on',
} as const;

const UNKNOWN_SOURCE = 'has an unknown source, and the script has untrusted text';
const UNKNOWN_TEXT = 'has an unknown source, and the script has text that not all';
const UNKNOWN_BRANCH = 'it is not known whether untrusted text has chosen that the call is made';
const COMPUTED_AFTER = 'was computed by a script that was written after untrusted text had been read';
const WRITTEN_AFTER = 'was written after untrusted text had been read';

/** The texts that may not go to all of their receivers, each with the reason. Names no receiver: untrusted text may be one. */
function readerDoubts(
  { sources, parts, labels }: Judged,
  readersOf: string,
  readBy: string,
): readonly (readonly [path: string, doubt: string])[] {
  const receivers = sources.filter(({ leaf }) => isGuarded(leaf.path, [readBy])).map(({ leaf }) => String(leaf.value));
  const isForbidden = ({ readers }: Pick<ArgumentOrigin, 'readers'>) => !mayReach(readers, receivers);
  if (!parts.all.some(isForbidden)) return [];
  const texts = sources.filter(({ leaf }) => isGuarded(leaf.path, [readersOf]));
  const whole = isDivided(
    texts.map(({ leaf }) => leaf),
    readersOf,
  )
    ? [wholeSources(labels, readersOf)]
    : [];
  const judged = [...texts.map(({ leaf, ...found }) => ({ path: leaf.path, ...found })), ...whole];
  return judged.flatMap(({ path, origins, selectedBy, isProven }): [path: string, doubt: string][] => {
    const first = [...origins, ...selectedBy].find(isForbidden);
    // defence: texts-reach-their-readers-only
    if (first !== undefined)
      return [[path, `comes from ${first.tool}${atLine(first.line)}, which not all of "${readBy}" may read`]];
    // defence: texts-of-unknown-readers-ask
    return isProven ? [] : [[path, `${UNKNOWN_TEXT} of "${readBy}" may read`]];
  });
}

/** The sources of an object or a list, with those of the names of its members. */
function wholeSources(labels: ArgumentLabels | undefined, path: string) {
  const { placed, isComplete } = labels?.sourcesUnder(path) ?? { placed: [], isComplete: false };
  return { path, origins: placed, selectedBy: [], isProven: isComplete };
}

const NO_BRANCH: Branch = { origins: [], isProven: true, doubt: undefined };

interface Branch {
  readonly origins: readonly ArgumentOrigin[];
  readonly isProven: boolean;
  readonly doubt: string | undefined;
}

/** The results that have chosen that the call is made. */
function callBranch({ labels, parts }: Judged): Branch {
  const control = labels?.control();
  // defence: unknown-branches-ask
  if (control?.isComplete !== true)
    return { origins: [], isProven: false, doubt: parts.untrusted.length > 0 ? UNKNOWN_BRANCH : undefined };
  const first = control.placed.find(({ trust }) => trust === 'untrusted');
  // defence: branches-on-untrusted-text-ask
  const doubt = first && `the call is made because of ${first.tool}${atLine(first.line)}, which is untrusted`;
  return { origins: control.placed.map(labelledOrigin), isProven: true, doubt };
}

/** The sources of a value without those of branches. `ofCall`: keeps the branches in which the call itself is not made. */
function withoutBranches(
  { placed, isComplete }: LabelledSources,
  ofCall: readonly LabelledSource[] | undefined,
): LabelledSources {
  const isOther = ({ call, from }: LabelledSource) =>
    ofCall?.every((source) => source.call !== call || source.from !== from) === true;
  return { placed: placed.filter((source) => source.way !== 'branch' || isOther(source)), isComplete };
}

function labelledOrigin({ way: _way, ...origin }: LabelledSource): ArgumentOrigin {
  return present(origin) as ArgumentOrigin;
}

function selections(sources: readonly LeafSources[]): Pick<Provenance, 'selectedBy'> {
  const found = sources.filter(({ selectedBy }) => selectedBy.length > 0);
  return found.length === 0
    ? {}
    : { selectedBy: Object.fromEntries(found.map(({ leaf, selectedBy }) => [leaf.path, selectedBy])) };
}

/** Whether the value at the path is no plain text or number. */
function isDivided(leaves: readonly Leaf[], path: string): boolean {
  return !leaves.some((leaf) => leaf.path === path);
}

function atLine(line: number | undefined): string {
  return line === undefined ? '' : ` (line ${line})`;
}

type FoundPart = PlacedPart & { readonly isWhole: boolean };

/** The parts whose texts contain the value, or lines or words of it. */
function containingParts({ value }: Leaf, parts: readonly PlacedPart[]): readonly FoundPart[] {
  if (parts.length === 0) return [];
  const { sources, isComplete } = argumentSources({ input: value }, parts);
  const found = sources.map(({ call, isWhole }) => ({ ...parts[call - 1]!, isWhole }));
  // A result that was too large to compare may contain the value.
  return isComplete || found.length > 0 ? found : parts.slice(-1).map((part) => ({ ...part, isWhole: false }));
}

/** Whether a trusted result contains the whole value. Short values count only as a whole value of the result. */
function isWholeIn({ value }: Leaf, found: readonly FoundPart[], { trustedValues }: EarlierParts): boolean {
  return found.some(({ isWhole }) => isWhole) || trustedValues().has(value);
}

function isMember(members: LiteralMembers, { path, value }: Leaf): boolean {
  return Object.hasOwn(members, path) && members[path] === value;
}

function hasOrigins({ origins }: LeafSources): boolean {
  return origins.length > 0;
}

/** All texts and names of a value. */
function readableText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '').replaceAll(/\\["\\nrt]/gu, ' ');
}
