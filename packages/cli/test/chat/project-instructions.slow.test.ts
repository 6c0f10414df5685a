import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withEnvironment } from '#cli/agents/environment-block.js';
import { withProjectInstructions } from '#cli/agents/project-instructions.js';
import { defineAgent } from '@toolscript/core/agent';
import { startScriptedServer } from '@toolscript/core/providers';
import { gitState } from '@toolscript/tools/internal';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Scene, text } from './scene.js';

const AGENT = defineAgent({ slug: 'coder', instructions: 'Be brief.' });

function put(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** The instructions of an agent in the workspace of a scene. */
async function instructed(scene: Scene, workspace = scene.workspace) {
  const warnings: string[] = [];
  const environment = { XDG_CONFIG_HOME: join(scene.base, 'config') };
  const { agent } = await withProjectInstructions(AGENT, environment, workspace, (warning) => warnings.push(warning));
  return { text: agent.instructions, warnings };
}

describe('AGENTS.md', () => {
  it('follows the instructions of the agent', async () => {
    const scene = new Scene();
    expect((await instructed(scene)).text).toBe('Be brief.');
    put(join(scene.workspace, 'AGENTS.md'), 'Use tabs.\n');
    expect((await instructed(scene)).text).toBe('Be brief.\n\nInstructions from AGENTS.md:\n\nUse tabs.');
  });

  it('is replaced by CLAUDE.md only where there is none', async () => {
    const scene = new Scene();
    put(join(scene.workspace, 'CLAUDE.md'), 'Use spaces.');
    expect((await instructed(scene)).text).toContain('Use spaces.');
    put(join(scene.workspace, 'AGENTS.md'), 'Use tabs.');
    expect((await instructed(scene)).text).not.toContain('Use spaces.');
  });

  it('is read from the user and from the root of the repository to the workspace, the nearest last', async () => {
    const scene = new Scene();
    const workspace = join(scene.workspace, 'packages/one');
    put(join(scene.base, 'config/toolscript/AGENTS.md'), 'Of the user.');
    put(join(scene.workspace, '.git/HEAD'), 'ref: refs/heads/main');
    put(join(dirname(scene.workspace), 'AGENTS.md'), 'Outside of the repository.');
    put(join(scene.workspace, 'AGENTS.md'), 'Of the repository.');
    put(join(workspace, 'AGENTS.md'), 'Of the workspace.');
    const found = (await instructed(scene, workspace)).text!;
    expect(found.match(/Of the \w+\./gu)).toEqual(['Of the user.', 'Of the repository.', 'Of the workspace.']);
    expect(found).not.toContain('Outside of the repository.');
  });

  it('is cut at 32 KB of all files together, with a warning; the nearest keeps its room', async () => {
    const scene = new Scene();
    put(join(scene.base, 'config/toolscript/AGENTS.md'), 'u'.repeat(30_000));
    put(join(scene.workspace, 'AGENTS.md'), 'w'.repeat(30_000));
    const { text: found, warnings } = await instructed(scene);
    expect(found).toContain('w'.repeat(30_000));
    expect(found!.length).toBeLessThan(33_000);
    expect(warnings).toEqual([expect.stringMatching(/config\/toolscript\/AGENTS\.md is cut: .* 32 KB/u)]);
  });

  it('leaves no room for the others if the nearest fills it', async () => {
    const scene = new Scene();
    put(join(scene.base, 'config/toolscript/AGENTS.md'), 'Of the user.');
    put(join(scene.workspace, 'AGENTS.md'), 'w'.repeat(32 * 1024));
    const { text: found, warnings } = await instructed(scene);
    expect(found).not.toContain('Of the user.');
    expect(warnings).toEqual([expect.stringMatching(/config\/toolscript\/AGENTS\.md is cut/u)]);
  });

  it('may be a folder, empty or unreadable text', async () => {
    const scene = new Scene();
    mkdirSync(join(scene.workspace, 'AGENTS.md'));
    put(join(scene.base, 'config/toolscript/AGENTS.md'), ' \n');
    expect((await instructed(scene)).text).toBe('Be brief.');
  });

  it('is part of the first request of a conversation, and a change of it is announced once', async () => {
    const scene = new Scene();
    const server = await startScriptedServer({
      turns: [text('Hi.'), text('Yes.'), text('Still.')],
      api_key: 'the key',
    });
    onTestFinished(() => server.close());
    const provider = { api: 'openai-chat', model: 'm', baseUrl: server.baseUrl, apiKeyEnv: 'MY_KEY' };
    put(scene.ownFile('agents/mine.json'), JSON.stringify({ slug: 'mine', provider }));
    const say = async (prompt: string, ...more: string[]) => {
      const args = ['chat', prompt, '--agent', 'mine', '--effort', 'low', ...more];
      expect(await scene.run(args, { env: { MY_KEY: 'the key' } })).toMatchObject({ status: 0 });
      return server.requests.at(-1) as { messages: { content: unknown }[]; reasoning_effort?: string };
    };
    const file = join(scene.workspace, 'AGENTS.md');
    put(file, 'Use tabs.');
    const first = await say('Hello.');
    expect(JSON.stringify(first.messages[0])).toContain('Use tabs.');
    expect(first.reasoning_effort).toBe('low');
    put(file, 'Use four spaces.');
    const second = await say('And now?', '--continue');
    expect(second.messages[0]).toEqual(first.messages[0]);
    expect(JSON.stringify(second.messages.slice(1))).toMatch(/From now on, these apply.*Use four spaces\./u);
    const third = JSON.stringify((await say('And then?', '--continue')).messages);
    expect(third.split('Use four spaces.')).toHaveLength(2);
  });
});

describe('the environment of a coding agent', () => {
  it('is part of the first request with the state of git, and stays the same in the conversation', async () => {
    const scene = new Scene();
    const server = await startScriptedServer({ turns: [text('Hi.'), text('Yes.')], api_key: 'the key' });
    onTestFinished(() => server.close());
    const provider = { api: 'openai-chat', model: 'm', baseUrl: server.baseUrl, apiKeyEnv: 'MY_KEY' };
    put(scene.ownFile('agents/mine.json'), JSON.stringify({ slug: 'mine', provider }));
    execFileSync('git', ['init', '-q', '-b', 'trunk'], { cwd: scene.workspace });
    const say = async (prompt: string, ...more: string[]) => {
      expect(
        await scene.run(['chat', prompt, '--agent', 'mine', ...more], { env: { MY_KEY: 'the key' } }),
      ).toMatchObject({
        status: 0,
      });
      return JSON.stringify((server.requests.at(-1) as { messages: unknown }).messages);
    };
    const first = await say('Hello.');
    expect(first).toContain(`folder: ${scene.workspace}`);
    expect(first).toContain('git: branch trunk, clean');
    expect(first).toContain("You work in the user's folder.");
    put(join(scene.workspace, 'new.txt'), 'new');
    const second = await say('Again.', '--continue');
    expect(second.match(/<environment>/gu)).toHaveLength(1);
    expect(second).toContain('git: branch trunk, clean');
    const { instructions } = await withEnvironment(AGENT, scene.workspace, undefined);
    expect(instructions).toMatch(/^Be brief\.[\s\S]*git: branch trunk, 1 changed or new file\n/u);
  });

  it('runs no program that the configuration of a repository names', async () => {
    const scene = new Scene();
    execFileSync('git', ['init', '-q'], { cwd: scene.workspace });
    put(join(scene.workspace, '.gitattributes'), '* filter=evil');
    put(join(scene.workspace, 'a.txt'), 'a');
    execFileSync('git', ['add', '-A'], { cwd: scene.workspace });
    put(join(scene.workspace, 'a.txt'), 'b');
    const mark = join(scene.base, 'mark');
    for (const name of ['filter.evil.clean', 'core.fsmonitor'])
      execFileSync('git', ['config', name, `touch ${mark}; cat`], { cwd: scene.workspace });
    expect(await gitState(scene.workspace)).toEqual({ branch: expect.any(String), changedFiles: undefined });
    expect(existsSync(mark)).toBe(false);
  });

  it('is not given to an agent with tools of its own', async () => {
    const agent = defineAgent({ slug: 'reader', tools: ['readFile'] });
    expect(await withEnvironment(agent, '/', undefined)).toBe(agent);
  });
});

describe('--effort', () => {
  it('takes only the levels that models have', async () => {
    const scene = new Scene();
    const { status, stderr } = await scene.chat('Hello.', [text('Hi.')], ['--effort', 'huge']);
    expect({ status, stderr }).toMatchObject({ status: 2, stderr: expect.stringContaining('none|minimal|low|medium') });
  });
});

describe('--output-format', () => {
  it('prints one object with the result, or one event a line', async () => {
    const scene = new Scene();
    const json = await scene.chat('Hello.', [text('Hi.')], ['--output-format', 'json']);
    expect(json).toMatchObject({ status: 0, stderr: '' });
    expect(JSON.parse(json.stdout)).toMatchObject({
      type: 'result',
      thread_id: expect.any(String),
      status: 'completed',
      answer: 'Hi.',
    });
    const stream = await scene.chat('Hello.', [text('Hi.')], ['--output-format', 'stream-json']);
    const events = stream.stdout.trim().split('\n');
    expect(events.map((line) => (JSON.parse(line) as { payload: { type: string } }).payload.type)).toContain(
      'response_done',
    );
    const asText = await scene.chat('Hello.', [text('Hi.')], ['--output-format', 'text']);
    expect(asText.stdout).toContain('Hi.');
  });

  it('tells a failure in the object', async () => {
    const scene = new Scene();
    const { status, stdout } = await scene.chat('Hello.', [], ['--output-format', 'json']);
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'failed', answer: null, error: { code: expect.any(String) } });
  });

  it('needs a prompt, and excludes --json and --print', async () => {
    const scene = new Scene();
    for (const other of ['--json', '--print'])
      expect((await scene.chat('Hello.', [], ['--output-format', 'json', other])).stderr).toContain(
        'cannot be used together',
      );
  });
});
