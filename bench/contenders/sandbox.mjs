import { createHash } from 'node:crypto';
import { QuickJsPool } from '@toolscript/core/internal';
import { callWithJson } from './tools.mjs';

const LIMITS = {
  computeMs: 10_000,
  memoryMb: 96,
  maxStackBytes: 524_288,
  maxReturnBytes: 131_072,
  maxToolInputBytes: 1_048_576,
  maxCalls: 3_000,
  maxBuiltinCalls: 500,
  maxLogEvents: 200,
  maxLogBytes: 262_144,
  maxOutputBytes: 131_072,
  maxProgressEvents: 50,
  queueWaitMs: 5_000,
};

/**
 * The sandbox port without the harness: without validation, approvals and reports.
 *
 * @returns {Promise<import('./tools.mjs').Contender>}
 */
export async function loadSandbox() {
  return {
    name: 'sandbox alone',
    role: 'part',
    version: '',
    note: 'QuickJsPool.run: the port below the harness, same worker hop and same pristine sandbox per script',
    open: async ({ workers }) => {
      const pool = new QuickJsPool({ size: workers });
      await pool.warm();
      const jobs = new Map();
      return {
        run: (source) => {
          let job = jobs.get(source);
          if (job === undefined) jobs.set(source, (job = sandboxJob(source)));
          return runJob(pool, job);
        },
        close: () => pool.close(),
      };
    },
  };
}

function sandboxJob(source) {
  return {
    runId: 'bench',
    sha256: createHash('sha256').update(source).digest('hex'),
    javascript: `(async function () {\n${source}\n})`,
    toolNames: ['echo', 'wait'],
    contextJson: '{}',
    spawn: false,
    seed: [1, 2, 3, 4],
    clockMs: Date.now(),
    wallMs: 30_000,
    principal: undefined,
    limits: LIMITS,
  };
}

function runJob(pool, job) {
  return new Promise((resolve, reject) => {
    let ready = [];
    let standing = false;
    const deliver = () => {
      if (!standing || ready.length === 0) return;
      standing = false;
      const batch = ready;
      ready = [];
      run.settle(batch, Date.now(), 30_000);
    };
    const settled = (settlement) => {
      if (ready.push(settlement) === 1) queueMicrotask(deliver);
    };
    const onSegment = (segment) => {
      standing = true;
      const { end } = segment;
      if (end?.type === 'returned') return resolve(JSON.parse(end.json));
      if (end !== undefined) return reject(new Error(JSON.stringify(end)));
      for (const { callIndex, name, argsJson } of segment.calls) {
        callWithJson(name, argsJson).then((json) => settled({ callIndex, ok: true, json }), reject);
      }
      deliver();
    };
    const run = pool.run(job, { onStart: () => {}, onSegment });
  });
}
