import { visible } from '../files/path-rules.js';
import type { WorkSlices } from '../work-slices.js';
import type { FileLines } from './file-lines.js';
import type { LineSearch } from './line-search.js';
import { newLines, oldLines } from './match.js';
import type { Hunk } from './operations.js';

/*
 * The information that a model needs to repair its patch: the lines searched for, and the file's actual lines.
 */

const SHOWN_LINES = 8;
const SHOWN_PLACES = 10;
const SHOWN_CHARACTERS = 200;
/**
 * Maximum number of positions of one text that are counted, and maximum number of lines that are compared by letters.
 */
const MAX_PLACES = 200;
const MAX_COMPARED = 20_000;
const ALIKE = 0.5;

export async function explainMissingContext(search: LineSearch, context: string, from: number): Promise<string> {
  const above = await search.seek([context], 0);
  const shown = `'${shorten(context)}'`;
  if (above !== undefined && above < from) {
    return `Its @@ line ${shown} is at line ${above + 1} of the file, above line ${from + 1}, where the search continues; put the hunks in the order of the file.`;
  }
  return `Its @@ line ${shown} is missing from the file. Read the file again.`;
}

/**
 * Explains that a hunk matches several positions. `candidates` are line numbers from 1, and `start` is an index from 0.
 */
export function explainCandidates(candidates: readonly number[], start: number | undefined): string {
  const shown = candidates.slice(0, SHOWN_PLACES).join(', ');
  const more = candidates.length > SHOWN_PLACES ? ` and ${candidates.length - SHOWN_PLACES} more` : '';
  const stated =
    start === undefined ? 'and its header has no line numbers' : `but not at line ${start + 1}, which its header names`;
  return `Its lines are in the file ${candidates.length} times, at lines ${shown}${more}, ${stated}. Give more of the unchanged lines around the change.`;
}

export async function explainMissingHunk(
  search: LineSearch,
  file: FileLines,
  hunk: Hunk,
  from: number,
  slices: WorkSlices,
): Promise<string> {
  const wanted = oldLines(hunk.lines);
  if (wanted.length === 0)
    return `It adds lines after line ${hunk.numbered?.start ?? file.length}, but the file has ${file.length} lines${from > 0 ? `, and the previous hunk ends at line ${from}` : ''}. Correct the line number.`;
  const parts = [`Expected:\n${block(wanted, undefined)}`];
  const elsewhere = await search.seek(wanted, 0);
  if (elsewhere !== undefined) parts.push(misplacedLines(elsewhere, from, hunk));
  else if (await isThereAlready(search, hunk)) parts.push('Its new lines are already in the file. Remove this hunk.');
  else parts.push(await nearest(file, wanted, slices));
  return parts.join('\n');
}

function misplacedLines(elsewhere: number, from: number, hunk: Hunk): string {
  if (hunk.atEnd && elsewhere >= from) {
    return `These lines begin at line ${elsewhere + 1}, but they are not the last of the file as '*** End of File' says. Remove '*** End of File'.`;
  }
  return `These lines begin at line ${elsewhere + 1}, above line ${from + 1}, where the search continues; put the hunks in the order of the file.`;
}

async function isThereAlready(search: LineSearch, hunk: Hunk): Promise<boolean> {
  const added = newLines(hunk.lines);
  return hunk.lines.some(({ kind }) => kind === 'add') && (await search.seek(added, 0)) !== undefined;
}

async function nearest(file: FileLines, wanted: readonly string[], slices: WorkSlices): Promise<string> {
  if (file.length === 0) return 'The file is empty. Send a hunk that only adds lines.';
  const start =
    (await mostCommonStart(file, wanted.slice(0, MAX_PLACES), slices)) ?? (await mostAlikeLine(file, wanted, slices));
  if (start === undefined) return 'No lines of the file are similar to these. Read the file again.';
  const first = Math.max(0, start);
  const end = Math.min(file.length, first + Math.max(wanted.length, 1));
  const texts = Array.from({ length: Math.min(end - first, SHOWN_LINES) }, (_, index) => file.at(first + index));
  return `The nearest lines in the file:\n${block(texts, first + 1, end - first)}`;
}

/** The start index at which most of the wanted lines match the file. */
async function mostCommonStart(
  file: FileLines,
  wanted: readonly string[],
  slices: WorkSlices,
): Promise<number | undefined> {
  const places = await linePlaces(file, wanted, slices);
  const votes = new Map<number, number>();
  for (const [offset, text] of wanted.entries()) {
    for (const place of places.get(text.trim()) ?? []) votes.set(place - offset, (votes.get(place - offset) ?? 0) + 1);
  }
  let best: number | undefined;
  for (const [start, count] of votes) if (best === undefined || count > votes.get(best)!) best = start;
  return best;
}

async function linePlaces(
  file: FileLines,
  wanted: readonly string[],
  slices: WorkSlices,
): Promise<Map<string, number[]>> {
  const places = new Map<string, number[]>(wanted.map((text) => [text.trim(), []]));
  places.delete('');
  for (let index = 0; index < file.length; index += 1) {
    const text = file.at(index);
    if (slices.isDue(2 + text.length / 64)) await slices.pass();
    const known = places.get(text.trim());
    if (known && known.length < MAX_PLACES) known.push(index);
  }
  return places;
}

/**
 * The start index that aligns the first wanted line of at least 3 characters with the most similar line of the file.
 */
async function mostAlikeLine(
  file: FileLines,
  wanted: readonly string[],
  slices: WorkSlices,
): Promise<number | undefined> {
  const offset = wanted.findIndex((text) => text.trim().length >= 3);
  if (offset === -1) return undefined;
  const pairs = letterPairs(wanted[offset]!);
  let best: number | undefined;
  let bestScore = ALIKE;
  for (let index = 0; index < Math.min(file.length, MAX_COMPARED); index += 1) {
    if (slices.isDue(SHOWN_CHARACTERS)) await slices.pass();
    const score = likeness(pairs, letterPairs(file.at(index)));
    if (score > bestScore) [best, bestScore] = [index, score];
  }
  return best === undefined ? undefined : best - offset;
}

/** Sørensen–Dice coefficient over pairs of adjacent characters: 1 for the same pairs, 0 for none in common. */
function likeness(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let common = 0;
  for (const pair of one) if (other.has(pair)) common += 1;
  return (2 * common) / (one.size + other.size || 1);
}

function letterPairs(text: string): Set<string> {
  const trimmed = text.trim().slice(0, SHOWN_CHARACTERS);
  const pairs = new Set<string>();
  for (let index = 0; index + 1 < trimmed.length; index += 1) pairs.add(trimmed.slice(index, index + 2));
  return pairs;
}

function block(lines: readonly string[], firstNumber: number | undefined, total = lines.length): string {
  const shown = lines
    .slice(0, SHOWN_LINES)
    .map((text, index) => `  ${firstNumber === undefined ? '' : `L${firstNumber + index}: `}${shorten(text)}`);
  if (total > SHOWN_LINES) shown.push(`  … ${total - SHOWN_LINES} more`);
  return shown.join('\n');
}

function shorten(text: string): string {
  const shown = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
  return visible(shown).replaceAll('\\u0009', '\t');
}
