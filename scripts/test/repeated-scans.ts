import { RegExpParser, type AST } from '@eslint-community/regexpp';

/** Text that a pattern reads again from each of its starts: `pump` many times, then `end`, after which nothing matches. */
export interface RepeatedScan {
  readonly pump: string;
  readonly end: string;
}

/** A bounded repetition above this is as slow as an unbounded one. */
const MAX_SCAN = 1_000;
const MAX_COUNT = 8;
const MAX_STEPS = 1_000;

/** The next or previous character: an index into the alphabet, or one of these. */
const START = -1;
const END = -2;

interface Skip {
  readonly to: State;
  readonly if: (previous: number, next: number) => boolean;
  /** A long assertion or a back reference, which may also not hold. */
  readonly isUnsure?: boolean;
}

interface State {
  readonly index: number;
  readonly moves: { readonly to: State; readonly reads: ReadonlySet<number> }[];
  readonly skips: Skip[];
}

/**
 * Finds a text on which a pattern needs quadratic time: it starts at many places (`<a` in `<a[^>]*>`), and each start
 * reads on through all later ones to the end of the text (`[^>]*`), where the match fails. A loop inside of a pattern
 * can be such a series of starts, too: the first one of `^a.*b.*c`.
 *
 * The pattern becomes an automaton. A loop repeats scans if one text leads from one of its states to the same state
 * without a match, and also from a start to this state; and if no match follows another text. Long assertions and back
 * references may hold or not, and counts above 8 are not counted, so a report can be wrong.
 */
export function findRepeatedScan(source: string, flags: string): RepeatedScan | undefined {
  if (!/[*+]|,\}|\d{4}\}/u.test(source)) return undefined;
  const automaton = new Automaton(source, flags);
  const loops = automaton.loops();
  for (const goal of loops) {
    const end = automaton.mismatchAfter(goal);
    if (end === undefined) continue;
    for (const origin of [automaton.start, ...loops]) {
      const pump = origin === goal ? undefined : automaton.pumpOf(goal, origin);
      if (pump !== undefined) return { pump, end };
    }
  }
  return undefined;
}

/** A set of states, with one object for each set. */
interface StateSet {
  readonly id: number;
  readonly states: readonly State[];
  readonly has: (state: State) => boolean;
  readonly after: Map<number, StateSet>;
}

interface PumpStep {
  /** The kind of the character before the pump, and of its last character. */
  readonly first: number;
  readonly previous: number;
  readonly text: string;
  /** The states of the scan if the unsure assertions hold, and if they do not. */
  readonly scan: StateSet;
  readonly sure: StateSet;
  /** The state that leads back to the origin of the starts. */
  readonly origin: State;
  /** A state after a start in the pump. */
  readonly started: State;
}

class Automaton {
  readonly start: State;
  readonly #isSticky: boolean;
  readonly #states: State[] = [];
  readonly #sets = new Map<string, StateSet>();
  readonly #reached = new Map<State, ReadonlySet<State>>();
  readonly #flags: string;
  readonly #alphabet: readonly string[];
  readonly #characters: readonly number[];
  /** A character of the same kind for each character: what a condition can tell about the previous one. */
  readonly #kinds: readonly number[];
  readonly #final: State;
  readonly #lookedBehind: ((index: number) => boolean)[] = [];

  constructor(source: string, flags: string) {
    this.#isSticky = flags.includes('y');
    this.#flags = flags.replaceAll(/[gyd]/gu, '');
    const mode = { unicode: flags.includes('u'), unicodeSets: flags.includes('v') };
    const pattern = new RegExpParser().parsePattern(source, 0, source.length, mode);
    this.#alphabet = alphabetOf(pattern, this.#flags);
    this.#characters = [...this.#alphabet.keys()];
    this.#final = this.#state();
    this.start = this.#choice(pattern.alternatives, this.#final);
    const kinds = this.#characters.map((index) => this.#lookedBehind.map((test) => test(index)).join());
    this.#kinds = kinds.map((kind) => kinds.indexOf(kind));
  }

  /** One state of each loop, after a character. */
  loops(): State[] {
    const targets = new Set(this.#states.flatMap(({ moves }) => moves.map(({ to }) => to)));
    const repeated = [...targets].filter((state) => this.#leads(state, state));
    return repeated.filter(
      (state) => !repeated.some((one) => one.index < state.index && this.#leads(state, one) && this.#leads(one, state)),
    );
  }

  /**
   * A text that leads from the goal to itself without a match, and also from the origin both to itself and to the goal.
   * The origin is a loop, or the start of the pattern, to which every text leads.
   */
  pumpOf(goal: State, origin: State): string | undefined {
    const isStart = origin === this.start;
    if (!this.#leads(origin, goal) || (isStart ? this.#isSticky : this.#leads(goal, origin))) return undefined;
    const seen = new Set<string>();
    const steps: PumpStep[] = [];
    const add = (step: PumpStep) => {
      const key = `${step.first} ${step.previous} ${step.scan.id} ${step.sure.id} ${step.origin.index} ${step.started.index}`;
      if (!seen.has(key)) steps.push(step);
      seen.add(key);
    };
    const [scan, sure] = [this.#set([goal]), this.#set([goal])];
    for (const first of new Set(this.#kinds))
      add({ first, previous: first, text: '', scan, sure, origin, started: origin });
    for (const step of steps) {
      if (steps.length > MAX_STEPS) return step.text;
      for (const next of this.#characters) {
        const after = this.#pumped(step, next, goal);
        if (after === undefined) continue;
        const started = this.#after(this.#set([step.started]), step.previous, next, true);
        const origins = isStart ? [origin] : this.#after(this.#set([step.origin]), step.previous, next, true).states;
        const isRound = after.previous === step.first && after.scan.has(goal) && started.has(goal);
        if (isRound && origins.includes(origin)) return after.text;
        for (const one of origins) {
          if (!isStart && !this.#leads(one, origin)) continue;
          for (const state of started.states)
            if (state === goal || this.#leads(state, goal)) add({ ...after, origin: one, started: state });
          if (isStart) add({ ...after, origin, started: origin });
        }
      }
    }
    return undefined;
  }

  #pumped(step: PumpStep, next: number, goal: State): PumpStep | undefined {
    if (this.#matches(step.sure, step.previous, next)) return undefined;
    const scan = this.#after(step.scan, step.previous, next, true);
    if (!scan.states.some((state) => this.#leads(state, goal))) return undefined;
    const sure = this.#after(step.sure, step.previous, next, false);
    return { ...step, scan, sure, previous: this.#kinds[next]!, text: step.text + this.#alphabet[next]! };
  }

  /** A text after which the pattern, from this state on, has not matched and cannot match. */
  mismatchAfter(state: State): string | undefined {
    const seen = new Set<string>();
    const steps: { readonly set: StateSet; readonly previous: number; readonly text: string }[] = [];
    const add = (set: StateSet, previous: number, text: string) => {
      const key = `${previous} ${set.id}`;
      if (!seen.has(key)) steps.push({ set, previous, text });
      seen.add(key);
    };
    for (const previous of new Set(this.#kinds)) add(this.#set([state]), previous, '');
    for (const { set, previous, text } of steps) {
      if (steps.length > MAX_STEPS || !this.#matches(set, previous, END)) return text;
      for (const next of this.#characters) {
        if (this.#matches(set, previous, next)) continue;
        const after = this.#after(set, previous, next, false);
        if (after.states.length === 0) return text + this.#alphabet[next]!;
        add(after, this.#kinds[next]!, text + this.#alphabet[next]!);
      }
    }
    return undefined;
  }

  #leads(from: State, to: State): boolean {
    let reached = this.#reached.get(from);
    if (reached === undefined) this.#reached.set(from, (reached = reachedFrom(from)));
    return reached.has(to);
  }

  #set(states: Iterable<State>): StateSet {
    const all = new Set(states);
    const key = Array.from(all, ({ index }) => index)
      .sort((one, other) => one - other)
      .join();
    let set = this.#sets.get(key);
    if (set === undefined) {
      set = { id: this.#sets.size, states: [...all], has: (state) => all.has(state), after: new Map() };
      this.#sets.set(key, set);
    }
    return set;
  }

  #matches(set: StateSet, previous: number, next: number): boolean {
    return this.#closure(set, previous, next, false).has(this.#final);
  }

  /** The states without a further character. */
  #closure(set: StateSet, previous: number, next: number, unsure: boolean): StateSet {
    return this.#remembered(set, 2 + (unsure ? 1 : 0), previous, next, () => {
      const reached = new Set(set.states);
      for (const state of reached)
        for (const skip of state.skips)
          if ((unsure || skip.isUnsure !== true) && skip.if(previous, next)) reached.add(skip.to);
      return reached;
    });
  }

  #after(set: StateSet, previous: number, next: number, unsure: boolean): StateSet {
    return this.#remembered(set, unsure ? 1 : 0, previous, next, () => {
      const found = new Set<State>();
      for (const state of this.#closure(set, previous, next, unsure).states)
        for (const move of state.moves) if (move.reads.has(next)) found.add(move.to);
      return found;
    });
  }

  #remembered(set: StateSet, kind: number, previous: number, next: number, make: () => Set<State>): StateSet {
    const key = ((previous + 2) * 1_000 + next + 2) * 4 + kind;
    let after = set.after.get(key);
    if (after === undefined) set.after.set(key, (after = this.#set(make())));
    return after;
  }

  #state(): State {
    const state: State = { index: this.#states.length, moves: [], skips: [] };
    this.#states.push(state);
    return state;
  }

  #skip(to: State, condition: Skip['if'] = () => true): State {
    const state = this.#state();
    state.skips.push({ to, if: condition });
    return state;
  }

  #choice(alternatives: readonly AST.Alternative[], to: State, isUnsure = false): State {
    const state = this.#state();
    for (const { elements } of alternatives) {
      const first = elements.reduceRight((next, element) => this.#element(element, next), to);
      state.skips.push({ to: first, if: () => true, isUnsure });
    }
    return state;
  }

  #element(element: AST.Element, to: State): State {
    switch (element.type) {
      case 'Group':
      case 'CapturingGroup':
        return this.#choice(element.alternatives, to);
      case 'Quantifier':
        return this.#quantifier(element, to);
      case 'Assertion':
        return this.#assertion(element, to);
      case 'Backreference':
        return this.#choice(
          [element.resolved].flat().flatMap((group) => group.alternatives),
          to,
          true,
        );
      default: {
        const state = this.#state();
        state.moves.push({ to, reads: this.#matching(element) });
        return state;
      }
    }
  }

  #quantifier({ element, min, max }: AST.Quantifier, to: State): State {
    let state = to;
    if (max > MAX_SCAN) {
      state = this.#skip(to);
      state.skips.push({ to: this.#element(element, state), if: () => true });
    } else
      for (let count = 0; count < Math.min(max - min, MAX_COUNT); count++) {
        const body = this.#element(element, state);
        state = this.#skip(to);
        state.skips.push({ to: body, if: () => true });
      }
    for (let count = 0; count < Math.min(min, MAX_COUNT); count++) state = this.#element(element, state);
    return state;
  }

  #assertion(assertion: AST.Assertion, to: State): State {
    const lines = this.#flags.includes('m');
    const isLineBreak = (index: number) => lines && /^[\n\r\u2028\u2029]$/u.test(this.#alphabet[index] ?? '');
    const isWord = (index: number) => /^\w$/u.test(this.#alphabet[index] ?? '');
    switch (assertion.kind) {
      case 'start':
        this.#lookedBehind.push(isLineBreak);
        return this.#skip(to, (previous) => previous === START || isLineBreak(previous));
      case 'end':
        return this.#skip(to, (_, next) => next === END || isLineBreak(next));
      case 'word':
        this.#lookedBehind.push(isWord);
        return this.#skip(to, (previous, next) => (isWord(previous) !== isWord(next)) !== assertion.negate);
      default:
        return this.#look(assertion, to);
    }
  }

  #look({ kind, negate, alternatives }: AST.LookaroundAssertion, to: State): State {
    const nearest = alternatives.map(({ elements }) => elements.at(kind === 'lookahead' ? 0 : -1));
    const isExact = nearest.every(isCharacter) && alternatives.every(({ elements }) => elements.length === 1);
    const reads = nearest.every(isCharacter) ? nearest.map((element) => this.#matching(element!)) : undefined;
    const isRead = (previous: number, next: number) =>
      reads?.some((one) => one.has(kind === 'lookahead' ? next : previous)) ?? true;
    if (kind === 'lookbehind') this.#lookedBehind.push((index) => isRead(index, END));
    if (isExact) return this.#skip(to, (previous, next) => isRead(previous, next) !== negate);
    const state = this.#state();
    state.skips.push({ to, if: (previous, next) => negate || isRead(previous, next), isUnsure: true });
    // An assertion consumes nothing: its scan is repeated even if it holds.
    state.skips.push({ to: this.#choice(alternatives, this.#state()), if: () => true });
    return state;
  }

  #matching(element: AST.Element): Set<number> {
    const pattern = new RegExp(`^(?:${element.raw})$`, this.#flags.replace('m', ''));
    return new Set([...this.#alphabet.keys()].filter((index) => pattern.test(this.#alphabet[index]!)));
  }
}

function reachedFrom(state: State): ReadonlySet<State> {
  const reached = new Set<State>();
  const rest = [state];
  for (const { moves, skips } of rest)
    for (const { to } of [...moves, ...skips].filter((step) => !reached.has(step.to))) {
      reached.add(to);
      rest.push(to);
    }
  return reached;
}

const isCharacter = (element: AST.Element | undefined) =>
  element?.type === 'Character' || element?.type === 'CharacterClass' || element?.type === 'CharacterSet';

/** One character for each set of characters that the pattern does not tell apart. */
function alphabetOf(pattern: AST.Pattern, flags: string): string[] {
  const characters = new Set(/[uv]/u.test(flags) ? 'é\u00A0\u2028中\u{1F600}' : 'é\u00A0\u2028中');
  for (let code = 0; code < 128; code++) characters.add(String.fromCharCode(code));
  const tests = [/^\w$/u, /^[\n\r\u2028\u2029]$/u];
  visitCharacters(pattern, (element) => {
    if (element.type === 'Character') characters.add(String.fromCodePoint(element.value));
    tests.push(new RegExp(`^(?:${element.raw})$`, flags.replace('m', '')));
  });
  // Readable characters stand for the others.
  const ordered = [...characters].sort((a, b) => Number(/^[a-z]$/u.test(b)) - Number(/^[a-z]$/u.test(a)));
  const kinds = new Map<string, string>();
  for (const character of ordered) {
    const kind = tests.map((test) => (test.test(character) ? 1 : 0)).join('');
    if (!kinds.has(kind)) kinds.set(kind, character);
  }
  return [...kinds.values()];
}

function visitCharacters(node: AST.Pattern | AST.Element, visit: (element: AST.Element) => void): void {
  if (node.type === 'Quantifier') return visitCharacters(node.element, visit);
  if (node.type === 'Backreference') return;
  if (node.type === 'Pattern' || node.type === 'Group' || node.type === 'CapturingGroup' || node.type === 'Assertion') {
    const alternatives = 'alternatives' in node ? node.alternatives : [];
    for (const { elements } of alternatives) for (const element of elements) visitCharacters(element, visit);
  } else visit(node);
}
