import { QuickJsPool } from '#core/sandbox/index.js';
import { asScript, driveRun, type DrivenRun, type TestHost } from '#core/testing/drive-run.js';
import { readReports, type CallReport } from '#core/calls/flow/label-reports.js';
import { labelledScript } from '#core/script/label-rewrite/labelled-script.js';

export type FlowWorld = Record<string, (args: never) => unknown>;

export interface LabelledRun {
  readonly plain: DrivenRun;
  readonly copy: DrivenRun;
  /** True: both runs made the same calls and ended in the same way. */
  readonly isSame: boolean;
  readonly reports: readonly CallReport[];
}

let pool: QuickJsPool | undefined;
const sharedPool = () => (pool ??= new QuickJsPool({ size: 1 }));

export async function closeLabelRuns(): Promise<void> {
  await pool?.close();
  pool = undefined;
}

/** Runs a script body of plain JavaScript. */
export function runPlain(body: string, world: FlowWorld): Promise<DrivenRun> {
  return driveRun(sharedPool(), body, { host: hostOf(world), job: { toolNames: Object.keys(world) } });
}

/** Runs a script body of plain JavaScript, and its rewritten copy. `runtime`: the text of another label runtime. */
export async function runLabelled(body: string, world: () => FlowWorld, runtime?: string): Promise<LabelledRun> {
  const script = labelledScript(asScript(body), { runtime });
  if (script === undefined) throw new Error('The script cannot be rewritten.');
  const plain = await runPlain(body, world());
  const first = world();
  const copy = await driveRun(sharedPool(), '', {
    host: hostOf(first),
    job: { toolNames: Object.keys(first), javascript: script.javascript, sha256: script.sha256 },
    limits: { computeMs: 20_000, maxOutputBytes: 16_777_216 },
  });
  const output = copy.segments.map((segment) => segment.output).join('');
  const reports = readReports(output, script.mark) ?? [];
  return { plain, copy, isSame: summary(plain) === summary(copy), reports };
}

const hostOf =
  (world: FlowWorld): TestHost =>
  (name, args) =>
    name.startsWith('$') ? undefined : world[name]!((args ?? {}) as never);

function summary({ segments, end }: DrivenRun): string {
  const calls = segments.flatMap((segment) => segment.calls.map(({ name, argsJson }) => [name, argsJson]));
  const told = end.type === 'threw' ? [end.error.name, end.error.message] : JSON.stringify(end);
  return JSON.stringify([calls, told]);
}

/** The sources of a path such as `list.0.a`, as `tool#index`: those of the value, of what is around it and in it. */
export function sourcesAt(report: CallReport, path: string, calls: readonly string[]): string[] {
  const key = path === '' ? '' : `${path.replaceAll('.', '\0')}\0`;
  const found = [...report.paths].flatMap(([at, parts]) => (key.startsWith(at) || at.startsWith(key) ? parts : []));
  return [...new Set(found.map(({ call }) => `${calls[call]}#${call}`))];
}
