import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './prepare.mjs';

/** The files of the agent suite whose providers are those of packages/core/test/tunnel/strict-provider.ts. */
const FILES = [
  'beginnings',
  'client-functions',
  'compaction',
  'control-laws',
  'counted-usage',
  'ends',
  'hosted-calls',
  'illegal-calls',
  'injected-destinations',
  'integration-laws',
  'one-program',
  'prompt-cache',
  'repeated-scripts',
  'script-nonce',
  'script-source-deltas',
  'turns',
  'unrun-calls',
].map((name) => `packages/core/test/agent/${name}.test.ts`);

/**
 * Runs the agent suite once with a model of each family. Prints the requests that the services of the models would
 * refuse. Returns whether there were requests, and none of them was refused.
 */
export async function runAgentSuite(only) {
  const { MODEL_FAMILIES } = await import('../packages/core/dist/internal.js');
  const modelsOf = (wanted) =>
    MODEL_FAMILIES.filter(({ vendor }) => vendor === wanted).map(({ models: [model] }) => model);
  const [openai, anthropic] = [modelsOf('openai'), modelsOf('anthropic')];
  const pairs = openai.map((model, index) => [model, anthropic[index % anthropic.length]]);
  const runs = pairs.filter((models) => only === undefined || models.includes(only)).map(runWith);
  return runs.every((isClean) => isClean);
}

function runWith(models) {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-suite-'));
  const log = join(folder, 'requests.jsonl');
  try {
    const env = { ...process.env, TOOLSCRIPT_TUNNEL_MODELS: models.join(','), TOOLSCRIPT_TUNNEL_LOG: log };
    spawnSync('npx', ['vitest', 'run', '--project', 'fast', ...FILES], { cwd: root, env, stdio: 'ignore' });
    const lines = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
    const requests = lines.map((line) => JSON.parse(line));
    const refused = requests.filter(({ refusals }) => refusals.length > 0);
    const unasked = models.filter((model) => !requests.some((request) => request.model === model));
    console.log(`agent suite, ${models.join(' and ')}: ${requests.length} requests, ${refused.length} refused`);
    for (const { api, model, test, refusals } of refused) console.log(`  ${api} ${model}: ${test}: ${refusals[0]}`);
    if (unasked.length > 0) console.log(`  No request reached ${unasked.join(', ')}.`);
    return refused.length === 0 && unasked.length === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
