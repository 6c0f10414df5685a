import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createHarness, defineTool } from '@toolscript/core';
import { isolatedVm } from '@toolscript/isolated-vm';
import { z } from 'zod';
import { requirePeer } from './peers.mjs';
import { TOOLS } from './tools.mjs';

const manifest = JSON.parse(readFileSync(new URL('../../packages/core/package.json', import.meta.url), 'utf8'));

/** Limits that let a script make the calls the rows measure; the rest are the defaults. */
const BENCH_LIMITS = { maxToolCalls: 2_000, maxConcurrentToolCalls: 1_000 };

export function benchTools() {
  const never = { approval: 'never', effect: 'read' };
  return [
    defineTool({
      ...never,
      name: 'echo',
      description: 'Gives back what it was given.',
      input: z.object({ i: z.number() }),
      execute: TOOLS.echo,
    }),
    defineTool({
      ...never,
      name: 'wait',
      description: 'Waits.',
      input: z.object({ ms: z.number() }),
      execute: TOOLS.wait,
    }),
  ];
}

/** @returns {Promise<import('./tools.mjs').Contender>} */
export async function loadToolscript() {
  return {
    name: 'toolscript',
    role: 'ours',
    version: manifest.version,
    note: 'harness.runScript: compile, lockdown, validation, approvals, operations and outcome included; a pristine sandbox per script',
    open: ({ workers }) => openHarness({ workers: { size: workers } }),
  };
}

/** The same harness on its second engine. @returns {Promise<import('./tools.mjs').Contender>} */
export async function loadToolscriptOnIsolatedVm() {
  const { TOOLSCRIPT_ISOLATED_VM: named } = process.env;
  const modulePath = (named === undefined ? requirePeer : createRequire(join(named, 'package.json'))).resolve(
    'isolated-vm',
  );
  return {
    name: 'toolscript on isolated-vm',
    role: 'part',
    version: manifest.version,
    note: "harness.runScript with runtime 'isolated-vm': a new isolate per script, in a child process",
    open: () => openHarness({ runtime: isolatedVm({ modulePath }) }),
  };
}

async function openHarness(options) {
  const harness = createHarness({ tools: benchTools(), limits: BENCH_LIMITS, ...options });
  await harness.warm();
  return {
    run: async (source) => {
      const outcome = await harness.runScript(source);
      if (outcome.status !== 'completed')
        throw new Error(`${outcome.status}: ${outcome.error?.code} ${outcome.error?.message}`);
      return outcome.value;
    },
    close: () => harness.close(),
  };
}
