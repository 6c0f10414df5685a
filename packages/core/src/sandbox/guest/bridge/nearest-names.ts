// Suggests names for a misspelled one.
import { max, min } from '../primordials.js';
import { codeUnit, lower, slice, split } from './captured.js';

const MAX_COMPARED = 2000;
const MAX_COMPARED_LENGTH = 64;
const MAX_FOUND = 3;
const MIN_CLOSENESS = 0.6;

interface ScoredName {
  readonly name: string;
  score: number;
}

/** The names most similar to `wanted`: at most three, the nearest first. */
export function nearestNames(wanted: string, names: readonly string[]): string[] {
  const wantedTokens = nameWords(wanted);
  const scored: ScoredName[] = [];
  for (let index = 0; index < names.length && index < MAX_COMPARED; index++) {
    const name = names[index]!;
    const shared = countSharedWords(wantedTokens, nameWords(name));
    const maxLength = max(wanted.length, name.length, 1);
    const closeness = maxLength > MAX_COMPARED_LENGTH ? 0 : 1 - editDistance(lower(wanted), lower(name)) / maxLength;
    if (closeness >= MIN_CLOSENESS || shared > 0) scored[scored.length] = { name, score: closeness + shared * 0.4 };
  }
  return bestNames(scored);
}

function bestNames(scored: readonly ScoredName[]): string[] {
  const best: string[] = [];
  while (best.length < MAX_FOUND) {
    let top: ScoredName | undefined;
    for (let index = 0; index < scored.length; index++)
      if (scored[index]!.score > (top?.score ?? 0)) top = scored[index];
    if (top === undefined) break;
    best[best.length] = top.name;
    top.score = 0;
  }
  return best;
}

/**
 * The number of pairs of words, one from each name, that are equal or of which one begins with the other. Words of
 * fewer than three characters do not count.
 */
function countSharedWords(wantedTokens: readonly string[], tokens: readonly string[]): number {
  let shared = 0;
  for (let left = 0; left < wantedTokens.length; left++) {
    const token = wantedTokens[left]!;
    if (token.length < 3) continue;
    for (let right = 0; right < tokens.length; right++) {
      const other = tokens[right]!;
      const isBeginning = slice(other, 0, token.length) === token || slice(token, 0, other.length) === other;
      if (other === token || (other.length > 2 && isBeginning)) shared++;
    }
  }
  return shared;
}

function nameWords(name: string): string[] {
  let spaced = '';
  for (let index = 0; index < name.length; index++) {
    const unit = codeUnit(name, index);
    const upper = unit >= 65 && unit <= 90;
    const plain = upper || (unit >= 97 && unit <= 122) || (unit >= 48 && unit <= 57);
    spaced += (upper ? ' ' : '') + (plain ? name[index] : ' ');
  }
  return split(lower(spaced), ' ');
}

function editDistance(left: string, right: string): number {
  let previous: number[] = [];
  for (let column = 0; column <= right.length; column++) previous[column] = column;
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const cost = codeUnit(left, row - 1) === codeUnit(right, column - 1) ? 0 : 1;
      current[column] = min(previous[column]! + 1, current[column - 1]! + 1, previous[column - 1]! + cost);
    }
    previous = current;
  }
  return previous[right.length]!;
}
