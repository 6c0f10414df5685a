// Every bundler builds the same program. `inPlace` runs the output next to the project's node_modules; `elsewhere` runs
// it in a folder without node_modules.
import { copyFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerOf, run } from './shell.mjs';

const NODE = process.execPath;

/** The output of the program if everything works. */
const WORKS = /^completed 42 ScriptTypeError available$/u;
/** The output of the program if its files are missing. */
const SAYS = /^ToolscriptUsageError: Toolscript does not find .*TOOLSCRIPT_CORE/u;

const bin = (project, name) => join(project, 'node_modules/.bin', name);

/** A case whose result is one folder with a main file. */
function folderCase(name, tools, main, build, start = (cwd) => run(NODE, [main], { cwd })) {
  return {
    name,
    tools,
    build,
    inPlace: (project) => start(join(project, 'out', folderOf(name))),
    elsewhere: (project, empty) => {
      cpSync(join(project, 'out', folderOf(name)), empty, { recursive: true });
      return start(empty);
    },
    expected: { inPlace: WORKS, elsewhere: SAYS },
  };
}

const folderOf = (name) => name.toLowerCase().replaceAll(/[^a-z0-9]+/gu, '-');

function esbuild(project, format, folder, extension) {
  const out = `--outfile=out/${folder}/main.${extension}`;
  run(
    bin(project, 'esbuild'),
    ['main.mjs', '--bundle', '--platform=node', `--format=${format}`, out, '--log-level=error'],
    { cwd: project },
  );
}

export const SHORT = [
  folderCase('esbuild ESM', ['esbuild'], 'main.mjs', (project) => esbuild(project, 'esm', 'esbuild-esm', 'mjs')),
  folderCase('esbuild CJS', ['esbuild'], 'main.cjs', (project) => esbuild(project, 'cjs', 'esbuild-cjs', 'cjs')),
  folderCase('Vite', ['vite'], 'main.js', (project) => {
    run(bin(project, 'vite'), ['build'], { cwd: project });
    writeFileSync(join(project, 'out/vite/package.json'), '{ "type": "module" }');
  }),
];

const MORE = [
  folderCase('Rolldown CJS', ['rolldown'], 'main.js', (project) => {
    run(bin(project, 'rolldown'), ['main.mjs', '--platform=node', '--format=cjs', '--dir=out/rolldown-cjs'], {
      cwd: project,
    });
    writeFileSync(join(project, 'out/rolldown-cjs/package.json'), '{ "type": "commonjs" }');
  }),
  folderCase('webpack', ['webpack', 'webpack-cli'], 'main.cjs', (project) => {
    run(bin(project, 'webpack'), [], { cwd: project });
  }),
  folderCase('bun build', ['bun'], 'main.mjs', (project) => {
    const args = ['build', 'main.mjs', '--target=node', '--outfile=out/bun-build/main.mjs'];
    run(bin(project, 'bun'), args, { cwd: project });
  }),
  folderCase(
    'Node SEA',
    ['esbuild', 'postject'],
    'program',
    (project) => {
      const cwd = join(project, 'out/node-sea');
      mkdirSync(cwd, { recursive: true });
      esbuild(project, 'cjs', 'sea-source', 'cjs');
      const source = join(project, 'out/sea-source/main.cjs');
      const config = { main: source, output: 'sea.blob', disableExperimentalSEAWarning: true };
      writeFileSync(join(cwd, 'sea.json'), JSON.stringify(config));
      run(NODE, ['--experimental-sea-config', 'sea.json'], { cwd });
      copyFileSync(NODE, join(cwd, 'program'));
      const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
      run(bin(project, 'postject'), ['program', 'NODE_SEA_BLOB', 'sea.blob', '--sentinel-fuse', fuse], { cwd });
    },
    (cwd) => run(join(cwd, 'program'), [], { cwd }),
  ),
];

/** webpack copies core's own paths of the build machine into the bundle, so its bundle runs wherever these exist. */
MORE.find(({ name }) => name === 'webpack').expected.elsewhere = WORKS;

/** `version` selects a separate project, because a project has one version of Next.js. */
function nextCase(name, { version, args, env, elsewhere }) {
  const start = (cwd) => answerOf(NODE, ['server.js'], { cwd, path: '/api/run' });
  return {
    name,
    project: version,
    tools: [version, 'react'],
    build: (project) => {
      run(bin(project, 'next'), ['build', ...args], { cwd: project, env: { NEXT_TELEMETRY_DISABLED: '1', ...env } });
    },
    inPlace: (project) => start(join(project, '.next/standalone')),
    elsewhere: (project, empty) => {
      cpSync(join(project, '.next/standalone'), empty, { recursive: true });
      return start(empty);
    },
    expected: { inPlace: WORKS, elsewhere },
  };
}

const WITHOUT = { WITHOUT_HELPER: '1' };

export const FULL = [
  ...SHORT,
  ...MORE,
  nextCase('Next 16, withToolscript', { version: 'next', args: [], env: {}, elsewhere: WORKS }),
  nextCase('Next 16, without it', { version: 'next', args: [], env: WITHOUT, elsewhere: SAYS }),
  nextCase('Next 16 --webpack', { version: 'next', args: ['--webpack'], env: {}, elsewhere: WORKS }),
  nextCase('Next 15, withToolscript', { version: 'next 15', args: [], env: {}, elsewhere: WORKS }),
];
