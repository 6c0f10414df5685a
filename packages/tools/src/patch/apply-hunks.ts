import { failure } from '../failure.js';
import { quotePath } from '../files/path-rules.js';
import type { WorkSlices } from '../work-slices.js';
import { readMark } from './byte-order-mark.js';
import { FileLines } from './file-lines.js';
import { LineSearch } from './line-search.js';
import { isOnlyAdditions, placeHunk, type Placement } from './match.js';
import { explainCandidates, explainMissingContext, explainMissingHunk } from './mismatch.js';
import type { Hunk } from './operations.js';
import { placeNumbered } from './place-numbered.js';

/** Hunks of one file. */
export interface FileHunks {
  readonly path: string;
  readonly hunks: readonly Hunk[];
}

export interface AppliedText {
  readonly text: string;
  readonly added: number;
  readonly removed: number;
}

/**
 * The text after applying all hunks of a file. The search goes from top to bottom: each hunk follows the previous one.
 * Context lines keep the file's own text, even if they matched loosely. Throws a ToolCallError that names the file, the
 * hunk and the nearest lines.
 */
export async function applyHunks(
  text: string,
  { path, hunks: given }: FileHunks,
  slices: WorkSlices,
): Promise<AppliedText> {
  const { hunks, removesMark } = text.startsWith('\uFEFF') ? readMark(given) : { hunks: given, removesMark: false };
  const file = await FileLines.of(text, slices);
  const search = await LineSearch.of(file, slices);
  const placements = await new HunkPlacer(file, search, path, slices).placeAll(hunks);
  let [added, removed] = [0, 0];
  for (const { lines } of hunks) {
    for (const { kind } of lines) {
      if (kind === 'add') added += 1;
      if (kind === 'remove') removed += 1;
    }
  }
  const applied = file.withReplacements(placements, finalLineEnd(file, hunks, placements));
  return { text: removesMark ? applied.replace(/^\uFEFF/, '') : applied, added, removed };
}

/** Finds the positions of one file's hunks in order. */
class HunkPlacer {
  readonly #file: FileLines;
  readonly #path: string;
  readonly #search: LineSearch;
  readonly #slices: WorkSlices;
  /** The line at which the search for the next hunk starts. */
  #cursor = 0;
  /** The distance of the last hunk from its stated line number. */
  #drift = 0;

  constructor(file: FileLines, search: LineSearch, path: string, slices: WorkSlices) {
    this.#file = file;
    this.#path = path;
    this.#search = search;
    this.#slices = slices;
  }

  async placeAll(hunks: readonly Hunk[]): Promise<Placement[]> {
    const placements: Placement[] = [];
    for (const hunk of hunks) {
      if (this.#slices.isDue(hunk.lines.length)) await this.#slices.pass();
      placements.push(await this.#place(hunk));
    }
    // A stable sort is necessary, because the patch may list additions at the end before a hunk further up.
    return placements.sort((one, other) => one.first - other.first);
  }

  async #place(hunk: Hunk): Promise<Placement> {
    await this.#passContexts(hunk);
    const placement = hunk.numbered
      ? await this.#placeByNumber(hunk)
      : await placeHunk(this.#search, hunk, this.#cursor);
    if (!placement) throw await this.#missing(hunk);
    const start = hunk.numbered?.start;
    if (start !== undefined) this.#drift = placement.first - start;
    if (start !== undefined || !isOnlyAdditions(hunk)) this.#cursor = placement.end;
    return placement;
  }

  async #placeByNumber(hunk: Hunk): Promise<Placement | undefined> {
    const found = await placeNumbered(this.#search, hunk, hunk.numbered!, this.#cursor, this.#drift);
    if (found.status === 'placed') return found.placement;
    if (found.status === 'missing' || this.#search.exhausted) return undefined;
    const candidates = found.candidates.map((index) => index + 1);
    throw this.#failure(hunk, explainCandidates(candidates, hunk.numbered!.start), { candidates });
  }

  async #passContexts(hunk: Hunk): Promise<void> {
    for (const context of hunk.contexts) {
      const found = await this.#search.seek([context], this.#cursor);
      if (found === undefined)
        throw this.#failure(hunk, await explainMissingContext(this.#search, context, this.#cursor));
      this.#cursor = found + 1;
    }
  }

  async #missing(hunk: Hunk): Promise<Error> {
    if (this.#search.exhausted) return this.#failure(hunk, '');
    return this.#failure(hunk, await explainMissingHunk(this.#search, this.#file, hunk, this.#cursor, this.#slices));
  }

  #failure(hunk: Hunk, explanation: string, details: object = {}): Error {
    const place = `Hunk ${hunk.number} of ${quotePath(this.#path)} (line ${hunk.patchLine} of the patch)`;
    const data = { path: this.#path, hunk: hunk.number, patchLine: hunk.patchLine, ...details };
    if (this.#search.exhausted)
      return failure(
        'too_large',
        `${place} took too long to find; the file has too many similar lines. Give more context lines.`,
        data,
      );
    return failure('no_match', `${place} does not match. ${explanation}`, data);
  }
}

/** Whether the new file ends with a line ending. Only a hunk at the end of the file may change this. */
function finalLineEnd(file: FileLines, hunks: readonly Hunk[], placements: readonly Placement[]): boolean {
  const said = hunks.at(-1)?.numbered?.finalLineEnd;
  return said === undefined || placements.at(-1)!.end !== file.length ? file.finalLineEnd : said;
}
