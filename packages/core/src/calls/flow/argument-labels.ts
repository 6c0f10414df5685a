import type { JsonValue } from '../../protocol/json.js';
import type { ArgumentOrigin } from '../../protocol/provenance.js';
import type { Leaf } from './call-leaves.js';
import type { SourcePart } from './label-reports.js';
import type { CallLabels } from './labelled-copy.js';

export type LabelledSource = ArgumentOrigin;

export interface LabelledSources {
  readonly placed: readonly LabelledSource[];
  /** False: a source is not known. */
  readonly isComplete: boolean;
}

/** The labels of the arguments of one call. */
export class ArgumentLabels {
  readonly #labels: CallLabels;
  readonly #place: (source: SourcePart) => LabelledSource | undefined;
  readonly #sent: unknown;

  /** `place` finds the call of a source, whose `call` is the index of the call in the script. */
  constructor(labels: CallLabels, place: (source: SourcePart) => LabelledSource | undefined) {
    this.#labels = labels;
    this.#place = place;
    this.#sent = labels.argsJson === '' ? undefined : (JSON.parse(labels.argsJson) as JsonValue);
  }

  /**
   * The sources of a value. A value that the script has not sent in this place, such as one that the input schema has
   * converted, may come from each of the arguments.
   */
  sourcesOf({ keys, value }: Leaf): LabelledSources {
    const { paths } = this.#labels.report;
    // defence: labels-are-of-the-sent-values
    const isSent = valueAt(this.#sent, keys) === value;
    const path = keys.map((key) => `${key}\0`).join('');
    const parts = [...paths].flatMap(([at, sources]) =>
      !isSent || path.startsWith(at) || at.startsWith(path) ? sources : [],
    );
    const unique = new Map(parts.map((source) => [`${source.call}.${source.part}`, source]));
    const placed = [...unique.values()].map(({ call, part }) => {
      const callIndex = this.#labels.callIndexes[call];
      return callIndex === undefined ? undefined : this.#place({ call: callIndex, part });
    });
    const known = placed.filter((source) => source !== undefined);
    return { placed: known, isComplete: known.length === placed.length };
  }
}

function valueAt(value: unknown, keys: readonly (string | number)[]): unknown {
  let at = value;
  for (const key of keys) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string | number, unknown>)[key];
  }
  return at;
}
