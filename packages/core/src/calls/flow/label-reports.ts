/** A part of the result of a call. `part` 0: what no label of the tool names; else the position of the label, from 1. */
export interface SourcePart {
  /** The position of the call among the calls that the script reports, from 0. */
  readonly call: number;
  readonly part: number;
  /** `content`: it is in the value. `selection`: it has selected the value. `branch`: it has selected the branch. */
  readonly way: 'content' | 'selection' | 'branch';
}

const WAYS = ['content', 'selection', 'branch'] as const;

/** A script's report about one of its calls. */
export interface CallReport {
  readonly tool: string;
  /** The sources of the arguments, by their paths: keys, each with a NUL after it. Values without sources are absent. */
  readonly paths: ReadonlyMap<string, readonly SourcePart[]>;
  /** The sources of the branch in which the call stands. Empty if branches are not followed. */
  readonly control: readonly SourcePart[];
}

/** Reads the reports in the output of a segment. Undefined: the output is damaged. */
export function readReports(output: string, mark: string): readonly CallReport[] | undefined {
  const reports: CallReport[] = [];
  for (const line of output.split('\n')) {
    if (!line.startsWith(mark)) continue;
    try {
      reports.push(readReport(JSON.parse(line.slice(mark.length)) as WrittenReport));
    } catch {
      return undefined;
    }
  }
  return reports;
}

type WrittenPart = readonly [call: number, part: number, way: 0 | 1 | 2];
type WrittenReport = readonly [
  tool: string,
  paths: readonly (readonly [path: string, parts: readonly WrittenPart[]])[],
  control: readonly WrittenPart[],
];

function readReport([tool, paths, control]: WrittenReport): CallReport {
  const read = (parts: readonly WrittenPart[]) =>
    parts.map(([call, part, way]): SourcePart => ({ call, part, way: WAYS[way] }));
  return { tool, paths: new Map(paths.map(([path, parts]) => [path, read(parts)])), control: read(control) };
}
