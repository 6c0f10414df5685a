import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from './documents.js';

const core = join(root, 'packages/core');
const DECLARATION = /^export (?:abstract )?(?:class|const|function|interface|type) (\w+)/mu;

/** The declarations in the API report of an entry point, each with the comment line before it. */
function reported(report: string): { name: string; comment: string }[] {
  return report.split(/^(?=\/\/ @)/mu).flatMap((part) => {
    const [, name] = DECLARATION.exec(part) ?? [];
    return name === undefined ? [] : [{ name, comment: part.slice(0, part.indexOf('\n')) }];
  });
}

function namesWithoutComment(report: string): string[] {
  return reported(report).flatMap(({ name, comment }) => (comment.includes('(undocumented)') ? [name] : []));
}

it.each(['index', 'ports'])('every name of the report %s of core has a doc comment', (entry) => {
  const report = readFileSync(join(core, 'api', `${entry}.api.md`), 'utf8');
  expect(reported(report).length).toBeGreaterThan(50);
  expect(namesWithoutComment(report)).toEqual([]);
});

it('a name without a doc comment is detected', () => {
  const report = '// @public\nexport type Told = 1;\n\n// @public (undocumented)\nexport interface Silent {\n}\n';
  expect(namesWithoutComment(report)).toEqual(['Silent']);
});

/** The code of every `@example` in a file's comments. */
function examplesIn(source: string): string[] {
  return [...source.matchAll(/^( *)\/\*\*.*?\*\//gmsu)].flatMap(([comment]) => {
    const text = comment.replaceAll(/^ *\* ?/gmu, '');
    return [...text.matchAll(/^@example\n+```ts\n(.*?)^```/gmsu)].map(([, code = '']) => code);
  });
}

/** Things that a reader of an example has. */
const READERS = `
import { appendFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { z } from 'zod';
declare const harness: import('@toolscript/core').Harness;
declare const store: import('@toolscript/core').HarnessOptions['store'] & {};
declare const getWeather: import('@toolscript/core').DefinedTool;
declare const scriptId: string, approvalId: string, answer: string, source: string;
declare const tools: import('@toolscript/core').HarnessOptions['tools'] & {};
declare const history: import('@toolscript/core').OutputItem[];
`;

/** A module with the example, which imports the names of core that the example mentions. */
function exampleModule({ file, code }: { file: string; code: string }): string {
  const imports = ['ports', 'index', 'history'].flatMap((entry) => {
    const report = readFileSync(join(core, 'api', `${entry}.api.md`), 'utf8');
    const names = reported(report).flatMap(({ name }) => (new RegExp(`\\b${name}\\b`, 'u').test(code) ? [name] : []));
    return `import { ${names.join(', ')} } from '@toolscript/core${entry === 'index' ? '' : `/${entry}`}';`;
  });
  return `// ${file}\n${READERS}${imports.join('\n')}\nexport async function example() {\n${code}\n}\n`;
}

/** The compiler's report about the modules. */
function compileErrors(modules: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-examples-'));
  try {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir');
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    const names = modules.map((_, at) => `example-${at}.ts`);
    modules.forEach((text, at) => writeFileSync(join(folder, names[at]!), text));
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', 'node'];
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    return spawnSync(process.execPath, [tsc, ...options, ...names], { cwd: folder, encoding: 'utf8' }).stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

it('every example in the doc comments of core compiles', () => {
  const examples = readdirSync(join(core, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => examplesIn(readFileSync(join(core, 'src', file), 'utf8')).map((code) => ({ file, code })));
  expect(examples.length).toBeGreaterThan(15);
  expect(compileErrors(examples.map(exampleModule))).toBe('');
  expect(compileErrors([exampleModule({ file: 'planted', code: 'harness.runScrip("return 1");' })])).toContain(
    'runScrip',
  );
});
