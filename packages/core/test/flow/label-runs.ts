import { QuickJsPool } from '#core/sandbox/index.js';
import { asScript, driveRun, type DrivenRun, type TestHost } from '#core/testing/drive-run.js';
import { readReports, type CallReport } from '#core/calls/flow/label-reports.js';
import { labelledScript, type LabelledScript } from '#core/script/label-rewrite/labelled-script.js';
import { rewriteForLabels } from '#core/script/label-rewrite/rewrite.js';

export type FlowWorld = Record<string, (args: never) => unknown>;

export interface LabelledRun {
  readonly plain: DrivenRun;
  readonly copy: DrivenRun;
  /** True: both runs made the same calls and ended in the same way. */
  readonly isSame: boolean;
  readonly reports: readonly CallReport[];
}

const pools = new Map<'execute' | 'labels', QuickJsPool>();

function sharedPool(image: 'execute' | 'labels'): QuickJsPool {
  const pool = pools.get(image) ?? new QuickJsPool({ size: 1, image });
  pools.set(image, pool);
  return pool;
}

export async function closeLabelRuns(): Promise<void> {
  await Promise.all([...pools.values()].map((pool) => pool.close()));
  pools.clear();
}

/** Runs a script body of plain JavaScript. */
export function runPlain(body: string, world: FlowWorld): Promise<DrivenRun> {
  return driveRun(sharedPool('execute'), body, { host: hostOf(world), job: { toolNames: Object.keys(world) } });
}

/**
 * Runs a script body of plain JavaScript, and its rewritten copy. `runtime`: the text of another label runtime. `control`:
 * whether branches count.
 */
export async function runLabelled(
  body: string,
  world: () => FlowWorld,
  runtime?: string,
  control = false,
): Promise<LabelledRun> {
  const rewritten = rewriteForLabels({ javascript: asScript(body), control });
  if (!rewritten.ok) throw new Error(`The script cannot be rewritten: ${rewritten.reason}`);
  const script = withRuntime(labelledScript(rewritten.code), runtime);
  const plain = await runPlain(body, world());
  const first = world();
  const copy = await driveRun(sharedPool(runtime === undefined ? 'labels' : 'execute'), '', {
    host: hostOf(first),
    job: { toolNames: Object.keys(first), javascript: script.javascript, sha256: script.sha256 },
    limits: { computeMs: 20_000, maxOutputBytes: 16_777_216 },
  });
  const output = copy.segments.map((segment) => segment.output).join('');
  const reports = readReports(output, script.mark) ?? [];
  return { plain, copy, isSame: summary(plain) === summary(copy), reports };
}

/** The runtime of labels is in the image of copies; another one becomes a part of the script. */
function withRuntime(script: LabelledScript, runtime: string | undefined): LabelledScript {
  if (runtime === undefined) return script;
  const javascript = `(()=>{"use strict";return (${runtime})((run)=>run())(${script.javascript})})`;
  return { ...script, javascript, sha256: javascript };
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
