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
import { partLabel, resultParts, type ResultPart } from './result-parts.js';
import { isQuoted, isVerbatim } from './verbatim.js';

/** Whether the tool, or the host's policy, has a rule about the sources of the tool's arguments. */
export function guardsSources({ flow, effect }: Tool, policy: FlowPolicy | undefined): boolean {
  return (flow?.trusted?.length ?? 0) > 0 || (policy !== undefined && effect !== 'read');
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
}

interface LeafSources {
  readonly leaf: Leaf;
  readonly literal: LiteralLabel | undefined;
  readonly origins: readonly ArgumentOrigin[];
  /** True: the value is a literal of this call itself, or its sources are known from its labels. */
  readonly isProven: boolean;
  /** The reason why untrusted text may have chosen the value; undefined if it has not. */
  readonly doubt: string | undefined;
}

/** The parts of the results of the calls before a call. */
interface EarlierParts {
  readonly trusted: readonly PlacedPart[];
  readonly untrusted: readonly PlacedPart[];
  /** The untrusted texts, in which even short values are searched. Written on demand. */
  readonly text: () => string;
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
  /** Whether untrusted text may have chosen the arguments of an ended call, by its id. */
  readonly #tainted = new Map<string, boolean>();
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
   * be learnt. Never rejects.
   */
  learn(call: JudgedCall): Promise<void> | undefined {
    const { openCopy, policy } = this.#settings;
    if (openCopy === undefined) return undefined;
    const guarded = this.#settings.tool(call.tool)?.flow?.trusted ?? [];
    const known = this.#literalsOf(call);
    const isOpen = (leaf: Leaf) =>
      (policy !== undefined || isGuarded(leaf.path, guarded)) && !known.some((members) => isMember(members, leaf));
    if (!argumentLeaves(call.input).leaves.some(isOpen)) return undefined;
    this.#opening ??= this.#open(openCopy);
    return this.#opening.then(() => this.#reach(callIdIndex(call.callId)));
  }

  async #open(openCopy: NonNullable<CallSourcesSettings['openCopy']>): Promise<void> {
    // Without a copy, the sources are not known.
    this.#copy = await openCopy().catch(() => undefined);
  }

  async #reach(callIndex: number): Promise<void> {
    await this.#copy?.reached(callIndex);
    // Calls that were judged by their content are judged again by their labels.
    this.#tainted.clear();
  }

  /** `earlier`: the operations of the script before the call, in call order. */
  finding(call: JudgedCall, earlier: readonly Operation[]): FlowFinding {
    const guarded = this.#settings.tool(call.tool)?.flow?.trusted ?? [];
    const judged = this.#judge(call, earlier);
    const watched = judged.sources.filter(({ leaf }) => isGuarded(leaf.path, guarded));
    const doubts = watched.flatMap(({ leaf, doubt }) => (doubt === undefined ? [] : [[leaf.path, doubt] as const]));
    if (!judged.isComplete && guarded.length > 0) doubts.push(['', 'there are too many arguments to compare']);
    const provenance: Provenance = {
      guarded: watched.map(({ leaf }) => leaf.path),
      arguments: Object.fromEntries(judged.sources.filter(hasOrigins).map(({ leaf, origins }) => [leaf.path, origins])),
      literals: Object.fromEntries(
        judged.sources.flatMap(({ leaf, literal }) => (literal === undefined ? [] : [[leaf.path, literal] as const])),
      ),
      status: judged.isComplete && watched.every(({ isProven }) => isProven) ? 'proven' : 'unknown',
      reasons: Object.fromEntries(doubts),
    };
    const reason = doubts.map(([path, doubt]) => (path === '' ? doubt : `the argument "${path}" ${doubt}`)).join('; ');
    return { provenance, isDoubtful: doubts.length > 0, reason, policy: () => this.#askPolicy(call, provenance) };
  }

  /** Whether untrusted text may have reached the arguments. */
  isTainted(call: JudgedCall, earlier: readonly Operation[]): boolean {
    const { sources, isComplete } = this.#judge(call, earlier);
    return !isComplete || sources.some(({ doubt }) => doubt !== undefined);
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
    const sources = leaves.map((leaf) => {
      const labelled = labels?.sourcesOf(leaf);
      return labelled === undefined
        ? this.#sourcesOf(leaf, known, parts)
        : this.#labelledSources(leaf, labelled, parts, known);
    });
    return { sources, isComplete };
  }

  #partsOf(earlier: readonly Operation[]): EarlierParts {
    const parts = earlier.flatMap((operation, index) => {
      const { tool, line } = operation;
      const placed = resultParts(operation, this.#settings.tool(tool), this.#hasTaintedInput(index, earlier));
      return placed.map((part): PlacedPart => ({ ...part, tool, line, call: index + 1, result: part.value }));
    });
    const untrusted = parts.filter(({ trust }) => trust === 'untrusted');
    let text: string | undefined;
    return {
      untrusted,
      trusted: parts.filter(({ trust }) => trust === 'trusted'),
      text: () => (text ??= untrusted.map(({ value }) => readableText(value)).join('\n')),
    };
  }

  #hasTaintedInput(index: number, earlier: readonly Operation[]): boolean {
    const { callId, tool, effect, input, line } = earlier[index]!;
    const before = this.#tainted.get(callId);
    if (before !== undefined) return before;
    const call = { callId, tool, effect, line, input: input as JsonValue, scriptId: undefined, principal: undefined };
    const isTainted = this.isTainted(call, earlier.slice(0, index));
    this.#tainted.set(callId, isTainted);
    return isTainted;
  }

  #sourcesOf(leaf: Leaf, known: readonly LiteralMembers[], parts: EarlierParts): LeafSources {
    const isProven = this.#settings.script === undefined || known.some((members) => isMember(members, leaf));
    const untrusted = isProven ? [] : containingParts(leaf, parts.untrusted);
    const trusted = isProven ? [] : containingParts(leaf, parts.trusted);
    const origins = [...untrusted, ...trusted].map(
      ({ tool, call, line, from, trust }) => present({ tool, call, line, from, trust }) as ArgumentOrigin,
    );
    const literal = this.#literalLabel(leaf, isProven);
    const judged = { leaf, literal, origins, isProven };
    const doubt = this.#doubt(judged, { parts, untrusted, isOfTrusted: isWholeIn(leaf, trusted, parts.trusted) });
    return { ...judged, doubt };
  }

  #labelsOf({ callId }: JudgedCall, earlier: readonly Operation[]): ArgumentLabels | undefined {
    const labels = this.#copy?.labelsOf(callIdIndex(callId));
    if (labels === undefined) return undefined;
    return new ArgumentLabels(labels, (source) => this.#placedSource(source, earlier));
  }

  /** A source, with its call. Undefined: the host does not know the call. */
  #placedSource({ call, part }: SourcePart, earlier: readonly Operation[]): LabelledSource | undefined {
    const index = earlier.findIndex(({ callId }) => callIdIndex(callId) === call);
    const operation = earlier[index];
    if (operation === undefined) return undefined;
    const { tool, line } = operation;
    const label = partLabel(operation, this.#settings.tool(tool), part, this.#hasTaintedInput(index, earlier));
    return { tool, line, call: index + 1, ...label };
  }

  #labelledSources(
    leaf: Leaf,
    { placed, isComplete }: LabelledSources,
    parts: EarlierParts,
    known: readonly LiteralMembers[],
  ): LeafSources {
    const isOwn = known.some((members) => isMember(members, leaf));
    const literal = placed.length === 0 || isOwn ? this.#literalLabel(leaf, true) : this.#userLabel(leaf);
    const origins = placed.map((source) => present(source) as ArgumentOrigin);
    const judged = { leaf, literal, origins, isProven: isComplete };
    const [first] = placed.filter(({ trust }) => trust === 'untrusted');
    return { ...judged, doubt: this.#labelledDoubt(judged, first, isWholeIn(leaf, [], parts.trusted)) };
  }

  /** Like `#doubt`, for a value whose sources are known from its labels. `first`: its first untrusted source. */
  #labelledDoubt(
    { literal, isProven }: Pick<LeafSources, 'literal' | 'isProven'>,
    first: LabelledSource | undefined,
    isOfTrusted: boolean,
  ): string | undefined {
    if (literal === 'user') return undefined;
    if (!isProven) return UNKNOWN_SOURCE;
    // defence: labelled-destinations-ask
    if (first !== undefined) return `comes from ${first.tool}${atLine(first.line)}, which is untrusted`;
    if (literal !== undefined) return literal === 'model' ? undefined : WRITTEN_AFTER;
    // A script that was written after reading may join trusted results and texts of its own into any value.
    return this.#startsWithUntrusted && !isOfTrusted ? COMPUTED_AFTER : undefined;
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
    const { origin, script } = this.#settings;
    const isSaved = script?.linked.some(({ untrusted }) => untrusted === true);
    return origin?.hasReadUntrusted === true || origin?.holdsUntrusted === true || isSaved === true;
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

const UNKNOWN_SOURCE = 'has an unknown source, and the script has untrusted text';
const COMPUTED_AFTER = 'was computed by a script that was written after untrusted text had been read';
const WRITTEN_AFTER = 'was written after untrusted text had been read';

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
function isWholeIn({ value }: Leaf, found: readonly FoundPart[], parts: readonly PlacedPart[]): boolean {
  if (found.some(({ isWhole }) => isWhole)) return true;
  return parts.some((part) => argumentLeaves(part.value as JsonValue).leaves.some((leaf) => leaf.value === value));
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
