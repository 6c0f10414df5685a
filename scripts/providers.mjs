// `npm run providers`: the wind tunnel. Agents talk to models of every family through services that refuse what the real
// ones refuse: with every known model, with the recorded streams (those that TOOLSCRIPT_STREAM_FIXTURES names, or else
// only those of the repository), in random conversations, in the agent suite, and with everything that the types of the
// SDKs declare. Then the script prints how the newest SDKs of OpenAI and Anthropic differ from the pinned ones, which needs the network.
// Correct packages/core/src/protocol/model-families.ts by these differences. `-- --offline` compares nothing.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runAgentSuite } from './agent-suite.mjs';
import { prepare, root } from './prepare.mjs';
import { sdkDifferences } from './sdk-differences.mjs';

const SDKS = {
  openai: [
    'resources/shared.d.ts',
    'resources/responses/responses.d.ts',
    'resources/chat/completions/completions.d.ts',
  ],
  '@anthropic-ai/sdk': ['resources/messages/messages.d.ts', 'resources/beta/messages/messages.d.ts'],
};

prepare();
const tests = [
  'packages/core/test/agent/model-families.test.ts',
  'packages/core/test/tunnel',
  'packages/core/test/providers/sdk-coverage.slow.test.ts',
  'packages/core/test/providers/switched-models.slow.test.ts',
];
const projects = ['--project', 'fast', '--project', 'slow'];
const isSuiteClean = await runAgentSuite();
const { status } = spawnSync('npx', ['vitest', 'run', ...projects, ...tests], { cwd: root, stdio: 'inherit' });
if (!process.argv.includes('--offline')) for (const [name, files] of Object.entries(SDKS)) compare(name, files);
process.exit(isSuiteClean ? (status ?? 1) : 1);

function compare(name, files) {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-sdk-'));
  try {
    run('npm', ['pack', '--silent', `${name}@latest`, '--pack-destination', folder]);
    const [archive] = readdirSync(folder);
    run('tar', ['-xzf', join(folder, archive), '-C', folder]);
    const [pinned, newest] = [join(root, 'node_modules', name), join(folder, 'package')];
    console.log(`\n— ${name} ${versionIn(pinned)} → ${versionIn(newest)}`);
    for (const file of files) {
      const [before, after] = [pinned, newest].map((place) => readFileSync(join(place, file), 'utf8'));
      const lines = sdkDifferences(before, after);
      console.log([`${file}: ${lines.length === 0 ? 'no difference' : ''}`, ...lines].join('\n'));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(command, args) {
  const { status: code, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr}`);
}

function versionIn(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version;
}
