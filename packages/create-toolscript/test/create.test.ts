import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defaultAgents } from '@toolscript/core/agent';
import { newFolder } from '@toolscript/testkit/folder';
import { describe, expect, it } from 'vitest';

const packageFolder = fileURLToPath(new URL('../', import.meta.url));
const templates = readdirSync(join(packageFolder, 'templates'));

/** Runs the command without a terminal. */
function create(words: readonly string[], cwd = newFolder()) {
  const command = join(packageFolder, 'bin/create-toolscript.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...words], { cwd, encoding: 'utf8' });
  return { status, stdout, stderr, cwd };
}

describe('npm create toolscript', () => {
  it.each(templates)('creates a project from the template %s', (template) => {
    const { status, stdout, cwd } = create(['My Project', '--template', template]);
    expect(status).toBe(0);
    expect(stdout).toContain("cd 'My Project'\n  npm install\n");
    const project = join(cwd, 'My Project');
    const { name, dependencies } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as {
      name: string;
      dependencies: Record<string, string>;
    };
    const { version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as { version: string };
    expect(name).toBe('my-project');
    const own = Object.entries(dependencies).filter(([dependency]) => dependency.includes('toolscript'));
    expect(own.length).toBeGreaterThan(0);
    for (const [, range] of own) expect(range).toBe(`^${version}`);
    expect(readFileSync(join(project, '.gitignore'), 'utf8')).toContain('node_modules');
    expect(stdout + JSON.stringify(dependencies)).not.toMatch(/PROJECT_NAME|TOOLSCRIPT_VERSION/u);
  });

  it('takes the template agent and a name of its own without a terminal', () => {
    expect(create([]).stdout).toContain('toolscript-project from the template agent');
  });

  it('never writes into a folder that has files', () => {
    const cwd = newFolder();
    mkdirSync(join(cwd, 'mine'));
    writeFileSync(join(cwd, 'mine/package.json'), '{}');
    const { status, stderr } = create(['mine'], cwd);
    expect(status).toBe(2);
    expect(stderr).toContain('is not empty. Name a new or empty folder.');
    expect(readdirSync(join(cwd, 'mine'))).toEqual(['package.json']);
  });

  it.each([
    [['x', '-t', 'vue'], 'There is no template "vue". The templates are: agent, express, next, mcp-gateway.'],
    [['x', 'y'], 'Name one folder. These are 2: x y'],
    [['--colour'], "Unknown option '--colour'"],
    [['package.json/x'], 'cannot be made: ENOTDIR'],
  ])('refuses %j', (words, sentence) => {
    const cwd = newFolder();
    writeFileSync(join(cwd, 'package.json'), '{}');
    const { status, stderr } = create(words, cwd);
    expect({ status, stderr }).toMatchObject({ status: 2, stderr: expect.stringContaining(sentence) });
    expect(stderr).not.toContain('    at ');
    expect(readdirSync(cwd)).toEqual(['package.json']);
  });

  it('prints its usage with every template', () => {
    const { status, stdout } = create(['--help']);
    expect(status).toBe(0);
    for (const template of templates) expect(stdout).toContain(`  ${template}`);
  });
});

describe('the templates', () => {
  it('name the models of the built-in agents', () => {
    const models = new Map(defaultAgents().map(({ slug, provider }) => [slug, provider?.model]));
    const sources = ['agent/agent.ts', 'express/server.ts', 'next/app/api/chat/model.ts'];
    for (const source of sources) {
      const text = readFileSync(join(packageFolder, 'templates', source), 'utf8');
      expect(text).toContain(`'${models.get('claude-sonnet')}'`);
      expect(text).toContain(`'${models.get('gpt')}'`);
    }
  });
});
