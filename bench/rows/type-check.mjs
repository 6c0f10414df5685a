import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createCompiler } from '@toolscript/core/internal';
import { createHarness, defineTool } from '@toolscript/core';
import { z } from 'zod';
import { CheckPool, createTypeChecker } from '../../packages/core/dist/script/check/index.js';
import { alternate } from '../measure.mjs';
import { fiftyLines } from './fifty-lines.mjs';

const TOOLS = 40;
const TURN = { principal: undefined, waitMs: 60_000 };
const MANY_CHECKS = 5_000;
const MAX_SOURCE_BYTES = 20_480;
const WHAT = `50 lines never seen before, against ${TOOLS} tools`;

export const name = 'type-check';

/** The type checker by itself, the whole compiler with it, its first answer, and its memory. */
export async function measure({ effort }) {
  const tools = manyTools();
  const declarations = await declarationsOf(tools);
  const pool = new CheckPool({ size: 1 });
  const checker = checkerOf(pool, tools, declarations);
  const compiler = createCompiler();
  try {
    await Promise.all([checker.warm(), compiler.warm()]);
    let variant = 0;
    const check = () => pool.check({ name: 'bench', declarations }, wrapped(fiftyLines(++variant)), TURN);
    const compile = async () => {
      const options = { language: 'ts', maxSourceBytes: MAX_SOURCE_BYTES, typeChecker: checker };
      const result = await compiler.compile(fiftyLines(++variant), options);
      assert.ok(result.ok && !result.cacheHit, JSON.stringify(result.failure));
    };
    const timed = (act) => ({ name: 'toolscript', role: 'ours', block: () => samplesOf(act, effort.blockMs) });
    await samplesOf(check, effort.warmMs);
    await samplesOf(compile, effort.warmMs);
    const rows = [
      await alternate({ ...row('type-check', `${WHAT}: the check alone`), limit: 5 }, [timed(check)], effort.rounds),
      await alternate(
        { ...row('compile-checked', `${WHAT}: parse, lint, check and strip`), limit: 8 },
        [timed(compile)],
        effort.rounds,
      ),
      await alternate(
        { ...row('first-check', `from nothing to the first answer, against ${TOOLS} tools`), limit: 100 },
        [{ name: 'toolscript', role: 'ours', block: async () => [await firstCheck(tools, declarations)] }],
        effort.coldRounds,
      ),
    ];
    for (let made = pool.stats().checked; made < MANY_CHECKS; made++) await check();
    const memory = {
      name: 'checker-memory',
      title: `resident memory of the checker's process after ${MANY_CHECKS} checks`,
      unit: 'MB',
      better: 'lower',
      limit: 60,
    };
    rows.push(await alternate(memory, [{ name: 'toolscript', role: 'ours', block: () => [residentMb(pool)] }], 2));
    assert.equal(pool.stats().slow, 0, 'a check missed its deadline');
    return rows;
  } finally {
    pool.close();
    await compiler.close();
  }
}

function row(id, title) {
  return { name: id, title, unit: 'ms', better: 'lower' };
}

async function samplesOf(act, forMs) {
  const samples = [];
  const began = performance.now();
  while (performance.now() - began < forMs) {
    const from = performance.now();
    await act();
    samples.push(performance.now() - from);
  }
  return samples;
}

async function firstCheck(tools, declarations) {
  const pool = new CheckPool({ size: 1 });
  const from = performance.now();
  const answer = await pool.check({ name: 'first', declarations }, wrapped(fiftyLines(0)), TURN);
  const took = performance.now() - from;
  pool.close();
  assert.equal(answer.type, 'checked');
  return took;
}

function residentMb(pool) {
  const [pid] = pool.pids();
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s*(\d+)/mu.exec(status)[1]) / 1024;
}

function wrapped(source) {
  return `export {};async function __script(){\n${source}\n}\n`;
}

function checkerOf(pool, tools, declarations) {
  const toolNames = tools.map((tool) => tool.name);
  return createTypeChecker({
    pool,
    key: 'bench',
    mode: 'error',
    declarations,
    toolNames,
    findSignature: () => undefined,
    judgeArgument: () => undefined,
    isObject: () => false,
  });
}

async function declarationsOf(tools) {
  const harness = createHarness({ tools });
  try {
    return harness.declarations();
  } finally {
    await harness.close();
  }
}

/** The three tools that the script calls, and others of the usual size. */
function manyTools() {
  const tool = (id, input, output) =>
    defineTool({
      name: id,
      description: `What ${id} does, in a sentence of the usual length for such things.`,
      input: z.object(input),
      output: z.object(output),
      approval: 'never',
      effect: 'read',
      execute: () => ({}),
    });
  const used = [
    tool('listDir', { path: z.string() }, { names: z.array(z.string()) }),
    tool('readFile', { path: z.string(), limit: z.number() }, { lines: z.array(z.string()) }),
    tool('fileSearch', { query: z.string() }, { files: z.array(z.string()) }),
  ];
  const others = Array.from({ length: TOOLS - used.length }, (_, index) =>
    tool(
      `service${index % 6}.operation${index}`,
      {
        id: z.string().describe('Which one'),
        mode: z.enum(['fast', 'slow', 'auto']).optional(),
        filter: z
          .object({ from: z.string().optional(), to: z.string().optional(), tags: z.array(z.string()) })
          .optional(),
        limit: z.number().int().default(20),
      },
      {
        items: z.array(
          z.object({ id: z.string(), title: z.string(), score: z.number(), owner: z.string().nullable() }),
        ),
        cursor: z.string().optional(),
      },
    ),
  );
  return [...used, ...others];
}
