/*
 * Nested repetition takes a backtracking engine exponential time only if a text can be split into rounds in several
 * ways. `(-[a-z]+)*` is harmless: a round begins only at a hyphen.
 */

export interface Quantifier {
  readonly min: number;
  /** `Infinity` if there is no upper bound. */
  readonly max: number;
  /** Number of characters of the quantifier. */
  readonly length: number;
}

/** The quantifier at this place of a pattern; undefined if there is none. */
export function readQuantifier(source: string, position: number): Quantifier | undefined {
  const found = /^(?:([*+?])|\{(\d+)(,(\d*))?\})\??/.exec(source.slice(position, position + 64));
  if (found === null) return undefined;
  const [{ length }, symbol, from, comma, to] = found;
  if (symbol !== undefined)
    return { min: symbol === '+' ? 1 : 0, max: symbol === '?' ? 1 : Number.POSITIVE_INFINITY, length };
  const min = Number(from);
  if (comma === undefined) return { min, max: min, length };
  return { min, max: to === '' ? Number.POSITIVE_INFINITY : Number(to), length };
}

/** One character of a round, and how often it may occur there. */
interface LoopAtom {
  readonly source: string;
  readonly min: number;
  readonly max: number;
}

const GROUP = /^\((?:\?:|\?<[A-Za-z_$][\w$]*>|(?!\?))([^]*)\)$/;
/** A class, an escape that denotes a character, or the character itself. */
const ATOM =
  /\[\^?(?:\\.|[^\]\\])*\]|\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\dA-Fa-f]{4}|x[\dA-Fa-f]{2}|c[A-Za-z]|[^bB1-9kuxcpP])|[^\\()[\]|^$*+?{}]/suy;

/**
 * Whether a repeated group consists of single characters such that, wherever one of them may be repeated or omitted,
 * the next character of the text decides it. `source`: the group with its parentheses.
 */
export function isDecidedLoop(source: string, flags: string): boolean {
  const body = GROUP.exec(source)?.[1];
  const atoms = body === undefined ? undefined : readAtoms(body);
  if (atoms === undefined || !atoms.some(({ min }) => min > 0)) return false;
  const sets = new Map(atoms.map((atom) => [atom.source, characterSet(atom.source, flags)]));
  return atoms.every(
    (atom, index) =>
      atom.min === atom.max ||
      followers(atoms, index).every((next) => areDisjoint(sets.get(atom.source)!, sets.get(next.source)!)),
  );
}

/** Undefined if the round contains more than single characters. */
function readAtoms(body: string): LoopAtom[] | undefined {
  const atoms: LoopAtom[] = [];
  for (let position = 0; position < body.length;) {
    ATOM.lastIndex = position;
    const source = ATOM.exec(body)?.[0];
    if (source === undefined) return undefined;
    position += source.length;
    const { min, max, length } = readQuantifier(body, position) ?? { min: 1, max: 1, length: 0 };
    position += length;
    atoms.push({ source, min, max });
  }
  return atoms;
}

/**
 * The characters that may follow a character of the round: up to the first mandatory one, in this round or in the
 * next.
 */
function followers(atoms: readonly LoopAtom[], index: number): LoopAtom[] {
  const found: LoopAtom[] = [];
  for (let step = 1; step <= atoms.length; step += 1) {
    const next = atoms[(index + step) % atoms.length]!;
    found.push(next);
    if (next.min > 0) break;
  }
  return found;
}

/** Code units that an atom matches, and whether it may match characters beyond them. */
interface CharacterSet {
  readonly units: Uint8Array;
  readonly hasOthers: boolean;
}

const UNITS = 0x1_0000;

function characterSet(source: string, flags: string): CharacterSet {
  const pattern = new RegExp(`^(?:${source})$`, flags.replace(/[gymd]/g, ''));
  const units = new Uint8Array(UNITS);
  for (let unit = 0; unit < UNITS; unit += 1) if (pattern.test(String.fromCharCode(unit))) units[unit] = 1;
  // Only with the flag u does an atom match a character of two units.
  const hasOthers = flags.includes('u') && (/[^\0-\x7f]|^\.$|^\[\^|\\[pPDWSu]/.test(source) || flags.includes('i'));
  return { units, hasOthers };
}

function areDisjoint(one: CharacterSet, other: CharacterSet): boolean {
  if (one.hasOthers && other.hasOthers) return false;
  for (let unit = 0; unit < UNITS; unit += 1) if (one.units[unit] === 1 && other.units[unit] === 1) return false;
  return true;
}
