import type { JsonValue } from '../../protocol/json.js';
import type { ArgumentOrigin } from '../../protocol/provenance.js';
import type { Leaf } from './call-leaves.js';
import type { SourcePart } from './label-reports.js';
import type { CallLabels } from './labelled-copy.js';

export type LabelledSource = ArgumentOrigin & Pick<SourcePart, 'way'>;

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
  /** The sources of what is in a value, by the path of the value. */
  readonly #within = new Map<string, SourcePart[]>();

  /** `place` finds the call of a source, whose `call` is the index of the call in the script. */
  constructor(labels: CallLabels, place: (source: SourcePart) => LabelledSource | undefined) {
    this.#labels = labels;
    this.#place = place;
    this.#sent = labels.argsJson === '' ? undefined : (JSON.parse(labels.argsJson) as JsonValue);
    for (const [path, sources] of labels.report.paths)
      for (const outer of pathsTo(path).slice(0, -1)) {
        const within = this.#within.get(outer) ?? [];
        within.push(...sources);
        this.#within.set(outer, within);
      }
  }

  /**
   * The sources of a value. A value that the script has not sent in this place, such as one that the input schema has
   * converted, may come from each of the arguments.
   */
  sourcesOf({ keys, value }: Leaf): LabelledSources {
    const { paths } = this.#labels.report;
    // defence: labels-are-of-the-sent-values
    const isSent = valueAt(this.#sent, keys) === value;
    const around = pathsTo(keys.map((key) => `${key}\0`).join(''));
    const parts = isSent
      ? [...around.flatMap((path) => paths.get(path) ?? []), ...(this.#within.get(around.at(-1)!) ?? [])]
      : [...paths.values()].flat();
    return this.#placed(parts);
  }

  /** The sources of all arguments. */
  all(): LabelledSources {
    return this.#placed([...this.#labels.report.paths.values()].flat());
  }

  /** The sources of all that is at a path of arguments, such as `rows.text`: also of the names of members. */
  sourcesUnder(guarded: string): LabelledSources {
    const keys = guarded.split('.');
    const isUnder = (path: string) => {
      const names = path.split('\0').slice(0, -1);
      // Indexes of lists are no part of a guarded path.
      const plain = names.filter((name) => !/^\d+$/u.test(name));
      return plain.slice(0, keys.length).every((name, index) => name === keys[index]);
    };
    return this.#placed([...this.#labels.report.paths].flatMap(([path, sources]) => (isUnder(path) ? sources : [])));
  }

  /** The sources of the branch in which the call is made. */
  control(): LabelledSources {
    return this.#placed(this.#labels.report.control);
  }

  #placed(parts: readonly SourcePart[]): LabelledSources {
    const unique = new Map(parts.map((source) => [`${source.call}.${source.part}.${source.way}`, source]));
    const placed = [...unique.values()].map(({ call, part, way }) => {
      const callIndex = this.#labels.callIndexes[call];
      return callIndex === undefined ? undefined : this.#place({ call: callIndex, part, way });
    });
    const known = placed.filter((source) => source !== undefined);
    return { placed: known, isComplete: known.length === placed.length };
  }
}

/** The paths of the values in which a path lies, from the outermost, and the path itself. */
function pathsTo(path: string): string[] {
  const paths = [''];
  for (let end = path.indexOf('\0'); end >= 0; end = path.indexOf('\0', end + 1)) paths.push(path.slice(0, end + 1));
  return paths;
}

function valueAt(value: unknown, keys: readonly (string | number)[]): unknown {
  let at = value;
  for (const key of keys) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string | number, unknown>)[key];
  }
  return at;
}
