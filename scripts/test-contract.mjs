// `npm run test:contract [-- --short]`: the OpenAPI document of `toolscript serve`, read by programs of others, from npm
// at pinned versions: two linters without a finding, and three generators whose code must compile. `--short`: nothing,
// with the reason, where npm cannot install one of them.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { installed } from './clients/installed.mjs';
import { prepare, root, toolPath } from './prepare.mjs';

const COMPILER = {
  strict: true,
  skipLibCheck: false,
  exactOptionalPropertyTypes: false,
  noEmit: true,
  target: 'ES2022',
  module: 'ESNext',
  moduleResolution: 'Bundler',
  lib: ['ES2022', 'DOM', 'DOM.Iterable'],
  types: [],
};

/** Each program: its package, the packages that it needs, the file that Node.js runs, and its arguments. */
const PROGRAMS = [
  { from: '@redocly/cli@2.77.0', bin: 'bin/cli.js', args: () => ['lint', 'openapi.json', '--max-problems=50'] },
  {
    from: '@stoplight/spectral-cli@6.16.3',
    bin: 'dist/index.js',
    args: () => ['lint', 'openapi.json', '--fail-severity=hint', '--ruleset=spectral.json'],
  },
  { from: 'openapi-typescript@7.13.0', bin: 'bin/cli.js', args: () => ['openapi.json', '-o', 'code/types.ts'] },
  {
    from: '@hey-api/openapi-ts@0.95.0',
    // Newer compilers lack the interface that it uses.
    others: ['typescript@5.9.3'],
    bin: 'bin/run.js',
    args: () => ['-i', 'openapi.json', '-o', 'code/hey-api', '-c', '@hey-api/client-fetch'],
  },
  {
    from: 'orval@7.13.2',
    bin: 'dist/bin/orval.js',
    args: () => ['--input', './openapi.json', '--output', './code/orval/api.ts', '--client', 'fetch'],
  },
];

prepare();
const folder = mkdtempSync(join(tmpdir(), 'toolscript-contract-'));
const problems = [];
try {
  const programs = installedPrograms();
  await writeDocument();
  writeFileSync(join(folder, 'spectral.json'), JSON.stringify({ extends: ['spectral:oas'] }));
  mkdirSync(join(folder, 'code'));
  writeFileSync(join(folder, 'code/tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER }));
  for (const { from, file, args } of programs) report(from, [file, ...args()]);
  const code = readdirSync(join(folder, 'code'), { recursive: true }).filter((name) => String(name).endsWith('.ts'));
  if (code.length < 3) problems.push(`the generators wrote ${code.length} files`);
  report('the compiler, over the generated code', [toolPath('typescript'), '-p', 'code']);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (problems.length > 0) {
  console.error(`\nNot satisfied with /openapi.json: ${problems.join(', ')}`);
  process.exit(1);
}

function installedPrograms() {
  try {
    return PROGRAMS.map((program) => {
      const name = program.from.slice(0, program.from.lastIndexOf('@'));
      return { ...program, file: join(installed(program.from, program.others), 'node_modules', name, program.bin) };
    });
  } catch (error) {
    if (!process.argv.includes('--short')) throw error;
    console.log(`The programs that read /openapi.json are left out: ${error.message}`);
    process.exit(0);
  }
}

/** Runs a program in the folder, and prints what it says if it fails. */
function report(name, args) {
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', env });
  const warned = /has (?:no errors but )?\d+ warnings?|with \d+ warnings?/u.test(`${stdout}${stderr}`);
  const isSatisfied = status === 0 && !warned;
  console.log(`${isSatisfied ? 'satisfied' : 'NOT'.padEnd(9)}  ${name}`);
  if (isSatisfied) return;
  problems.push(name);
  console.log(`${stdout}${stderr}`.slice(-6_000));
}

/** Starts the command as a user does, and stores its document. */
async function writeDocument() {
  const command = join(root, 'packages/cli/bin/toolscript.js');
  const env = { ...process.env, HOME: folder, XDG_CONFIG_HOME: '', XDG_DATA_HOME: '' };
  const server = spawn(process.execPath, [command, 'serve', '--port', '0'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [address] = await once(createInterface(server.stdout), 'line');
    const answer = await fetch(new URL('/openapi.json', address));
    const document = await answer.json();
    if (!Object.keys(document.paths ?? {}).includes('/mcp')) throw new Error('/openapi.json lacks /mcp.');
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document, null, 2));
  } finally {
    server.kill();
  }
}
