import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { coreFile } from '../../files/core-files.js';
import { sha256 } from '../../text/crypto.js';
import { rewriteForLabels } from '../../script/label-rewrite/rewrite.js';

/** A script that reports the labels of its calls' arguments through its output; see `sandbox/labels`. */
export interface LabelledScript {
  readonly javascript: string;
  readonly sha256: string;
  /** The beginning of each line of the reports. No script knows it, so none can write a report. */
  readonly mark: string;
}

/** A part of the result of a call. `part` 0: what no label of the tool names; else the position of the label, from 1. */
export interface SourcePart {
  /** The position of the call among the calls that the script reports, from 0. */
  readonly call: number;
  readonly part: number;
}

/** What a script reports about one of its calls. */
export interface CallReport {
  readonly tool: string;
  /** The sources of the arguments, by their paths: keys, each with a NUL after it. Values without sources are absent. */
  readonly paths: ReadonlyMap<string, readonly SourcePart[]>;
  /** The sources of the branch in which the call stands. Empty if branches are not followed. */
  readonly control: readonly SourcePart[];
}

let runtimeText: string | undefined;
let secret: string | undefined;

/** Undefined: the rewriter does not know the syntax of the script. */
export function labelledScript(javascript: string, control = false): LabelledScript | undefined {
  const rewritten = rewriteForLabels(javascript, control);
  if (!rewritten.ok) return undefined;
  runtimeText ??= readFileSync(coreFile('sandbox/artefacts/labels.js'), 'utf8');
  secret ??= randomBytes(32).toString('hex');
  // The same script has the same mark in this process, so that an engine can keep what it derives from the code.
  const mark = sha256(`${secret}\n${javascript}`).slice(0, 32);
  const code = `(()=>{"use strict";return (${runtimeText})("${mark}",${rewritten.code})})`;
  return { javascript: code, sha256: sha256(code), mark };
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

type WrittenPart = readonly [call: number, part: number];
type WrittenReport = readonly [
  tool: string,
  paths: readonly (readonly [path: string, parts: readonly WrittenPart[]])[],
  control: readonly WrittenPart[],
];

function readReport([tool, paths, control]: WrittenReport): CallReport {
  const read = (parts: readonly WrittenPart[]) => parts.map(([call, part]): SourcePart => ({ call, part }));
  return { tool, paths: new Map(paths.map(([path, parts]) => [path, read(parts)])), control: read(control) };
}
