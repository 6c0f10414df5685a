import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { startScriptedServer, type Scenario } from '@toolscript/core/providers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Scene, script, text } from './scene.js';

function write(path: string, content: unknown): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
}

async function served(turns: Scenario['turns']) {
  const server = await startScriptedServer({ turns, api_key: 'the key' });
  onTestFinished(() => server.close());
  return server;
}

describe('the user’s own agents', () => {
  it.each(['openai-responses', 'openai-chat', 'anthropic-messages'])(
    'use a server with the format %s, with the key that they name',
    async (api) => {
      const scene = new Scene();
      const server = await served([script('return 6 * 7'), text('It is 42.')]);
      write(scene.ownFile('agents/mine.json'), {
        slug: 'mine',
        provider: { api, model: 'model-1', baseUrl: server.baseUrl, apiKeyEnv: 'MY_KEY' },
        prices: { input: 1, output: 10 },
      });
      const { status, stdout, stderr } = await scene.toolscript(['Compute', '--agent', 'mine'], {
        env: { MY_KEY: 'the key' },
      });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout).toContain('It is 42.');
      expect(stdout).toMatch(/\$0\.\d{4}/u);
      expect(server.violations).toEqual([]);
      expect(server.turnsLeft).toBe(0);
    },
  );

  it('send an unencrypted key to another machine only if they allow it', async () => {
    const scene = new Scene();
    const server = await served([text('It is 42.')]);
    // This address reaches this machine on Linux and macOS, but does not name it.
    const provider = {
      api: 'openai-chat',
      model: 'model-1',
      baseUrl: server.baseUrl.replace('127.0.0.1', '0.0.0.0'),
      apiKeyEnv: 'MY_KEY',
    };
    write(scene.ownFile('agents/closed.json'), { slug: 'closed', provider });
    write(scene.ownFile('agents/open.json'), { slug: 'open', provider: { ...provider, allowInsecureHttp: true } });
    const env = { MY_KEY: 'the key' };
    const closed = await scene.run(['Compute', '--agent', 'closed'], { env });
    expect(closed.status).toBe(2);
    expect(closed.stderr).toContain('set allowInsecureHttp: true');
    expect(server.requests).toEqual([]);
    const open = await scene.run(['Compute', '--agent', 'open'], { env });
    expect({ status: open.status, stderr: open.stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('may be TypeScript, and choose the carrier, the tools and the limits', async () => {
    const scene = new Scene();
    const server = await served([script('return Object.keys(tools)'), text('Done.')]);
    write(
      scene.ownFile('agents/lib.mts'),
      'export const bounds: { maxTurns: number } = { maxTurns: 3 };\nexport default { slug: "lib" };',
    );
    write(
      scene.ownFile('agents/coder.ts'),
      `import { bounds } from './lib.mts';
       const api: string = 'openai-chat';
       export default { slug: 'coder', carrier: 'text', tools: ['readFile'], maxTurns: bounds.maxTurns,
         provider: { api, model: 'm', baseUrl: '${server.baseUrl}', apiKeyEnv: 'MY_KEY' } };`,
    );
    const { status, stdout, stderr } = await scene.run(['Go', '--agent', 'coder'], {
      env: { MY_KEY: 'the key' },
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('readFile');
    expect(JSON.stringify(server.requests[0])).toContain('<tool-calls id=');
    expect(JSON.stringify(server.requests[0])).not.toContain('writeFile(');
  });

  it('is the one that the configuration names, with the model that it names', async () => {
    const scene = new Scene();
    const server = await served([text('Hello.')]);
    write(scene.ownFile('agents/mine.json'), {
      slug: 'mine',
      provider: { api: 'openai-chat', model: 'old', baseUrl: server.baseUrl, apiKeyEnv: 'MY_KEY' },
    });
    write(scene.ownFile('config.json'), { agent: 'mine', models: { mine: 'new' } });
    const { status } = await scene.run(['Hello there'], { env: { MY_KEY: 'the key' } });
    expect(status).toBe(0);
    expect(server.requests).toMatchObject([{ model: 'new' }]);
  });

  it('report a missing or rejected key without showing it', async () => {
    const scene = new Scene();
    const server = await served([text('Hello.')]);
    write(scene.ownFile('agents/mine.json'), {
      slug: 'mine',
      provider: { api: 'openai-chat', model: 'm', baseUrl: server.baseUrl, apiKeyEnv: 'MY_KEY' },
    });
    const missing = await scene.run(['Hello there', '--agent', 'mine']);
    expect(missing).toMatchObject({ status: 2, stdout: '' });
    expect(missing.stderr).toContain('set MY_KEY');
    const wrong = await scene.run(['Hello there', '--agent', 'mine'], { env: { MY_KEY: 'sk-secret-wrong' } });
    expect(wrong.status).toBe(1);
    expect(wrong.stderr).toContain('The API key is wrong');
    expect(wrong.stdout + wrong.stderr).not.toContain('sk-secret-wrong');
  });

  it.each([
    ['{ "slug": "a", "modle": 1 }', 'unknown key "modle"'],
    ['{ "slug": "a", "limits": { "timeoutMs": "soon" } }', 'limits.timeoutMs'],
    ['{ "slug": "a", "costBudget": 1 }', 'costBudget needs prices'],
    ['[]', 'contains no agent'],
    ['{', 'is not JSON'],
  ])('are reported with the mistake in their file: %s', async (content, said) => {
    const scene = new Scene();
    write(scene.ownFile('agents/bad.json'), content);
    const { status, stderr } = await scene.chat('x', [text('y')], ['--agent', 'bad']);
    expect(status).toBe(2);
    expect(stderr).toContain(said);
    expect(stderr).toContain('bad.json');
  });

  it('that cannot be loaded are reported with the reason', async () => {
    const scene = new Scene();
    write(scene.ownFile('agents/bad.ts'), 'throw new Error("not today");');
    const bad = () => scene.chat('x', [text('y')], ['--agent', 'bad']);
    expect((await bad()).stderr).toContain('not today');
    write(scene.ownFile('agents/bad.ts'), 'export default { get slug() { throw new Error("nor tomorrow"); } };');
    expect((await bad()).stderr).toContain('nor tomorrow');
    write(scene.ownFile('agents/bad.ts'), 'export default { slug: "other" };');
    expect((await bad()).stderr).toContain('the slug "other" differs from the name of the file');
    write(scene.ownFile('agents/bad.ts'), 'export const other = 1;');
    expect((await bad()).status).toBe(2);
  });
});

describe('agents of a workspace', () => {
  const reader = { slug: 'reader', tools: ['readFile'], provider: { api: 'openai-chat', model: 'm' } };

  it('count only when the workspace is trusted', async () => {
    const scene = new Scene();
    write(join(scene.workspace, '.toolscript/agents/reader.json'), reader);
    const untrusted = await scene.chat('x', [text('y')], ['--agent', 'reader']);
    expect(untrusted.status).toBe(2);
    expect(untrusted.stderr).toContain('you have not trusted the workspace');
    await scene.run(['trust']);
    const trusted = await scene.chat('x', [script('return Object.keys(tools)'), text('y')], ['--agent', 'reader']);
    expect({ status: trusted.status, stderr: trusted.stderr }).toEqual({ status: 0, stderr: '' });
    expect(trusted.stdout).toContain('"readFile"');
    expect(trusted.stdout).not.toContain('"writeFile"');
  });

  it.each([
    [{ ...reader, provider: { ...reader.provider, baseUrl: 'http://127.0.0.1:1/v1' } }, 'cannot set "baseUrl"'],
    [{ ...reader, provider: { ...reader.provider, apiKeyEnv: 'AWS_SECRET' } }, 'cannot set "apiKeyEnv"'],
    [{ ...reader, provider: { ...reader.provider, allowInsecureHttp: true } }, 'cannot set "allowInsecureHttp"'],
    [
      { ...reader, provider: { ...reader.provider, apiKeyCommand: ['cat', '/etc/passwd'] } },
      'cannot set "apiKeyCommand"',
    ],
    [{ ...reader, provider: { ...reader.provider, headers: { 'x-to': 'me' } } }, 'cannot set "headers"'],
    [{ ...reader, provider: { ...reader.provider, query: { to: 'me' } } }, 'cannot set "query"'],
    [{ ...reader, provider: { ...reader.provider, extraBody: { store: true } } }, 'cannot set "extraBody"'],
    [{ ...reader, pack: 'all' }, 'cannot set "pack"'],
    [{ ...reader, maxTurns: 10_000 }, '"maxTurns" of a workspace'],
  ])('say neither where keys go nor what else there is, nor how long a run may be', async (agent, said) => {
    const scene = new Scene();
    write(join(scene.workspace, '.toolscript/agents/reader.json'), agent);
    await scene.run(['trust']);
    const { status, stderr } = await scene.chat('x', [text('y')], ['--agent', 'reader']);
    expect(status).toBe(2);
    expect(stderr).toContain(said);
  });

  it('cannot have the name of a built-in agent', async () => {
    const scene = new Scene();
    write(join(scene.workspace, '.toolscript/agents/claude-sonnet.json'), { ...reader, slug: 'claude-sonnet' });
    await scene.run(['trust']);
    const { status, stderr } = await scene.chat('x', [text('y')], ['--agent', 'claude-sonnet']);
    expect(status).toBe(2);
    expect(stderr).toContain('of a built-in agent');
  });

  it('widen no limit, mode or tools, and cannot have the name of a user’s agent', async () => {
    const scene = new Scene();
    const wide = { ...reader, mode: 'enabled', limits: { maxToolCalls: 1000 }, tools: ['readFile', 'exec'] };
    write(join(scene.workspace, '.toolscript/agents/reader.json'), wide);
    write(join(scene.workspace, 'toolscript.config.json'), { expose: { tools: ['readFile', 'listDir'] } });
    await scene.run(['trust']);
    const code = "return [Object.keys(tools), await tools.readFile({ path: 'no' }).catch((e) => e.name)]";
    const { stdout, stderr } = await scene.chat(
      'x',
      [script(code), text('y')],
      ['--agent', 'reader', '--limit', 'maxToolCalls=0'],
    );
    expect(stderr).toContain('"limits.maxToolCalls" would widen');
    expect(stdout).toContain('ToolBudgetExceededError');
    expect(stdout).not.toContain('"exec"');
    const dry = await scene.chat('x', [script('return 1'), text('y')], ['--agent', 'reader'], {
      env: { TOOLSCRIPT_MODE: 'dry-run' },
    });
    expect(dry.stdout).toContain('a dry run calls nothing');
    write(scene.ownFile('agents/reader.json'), { ...reader, tools: ['listDir'] });
    const own = await scene.chat('x', [script('return Object.keys(tools)'), text('y')], ['--agent', 'reader']);
    expect(own.stdout).toContain('"listDir"');
    expect(own.stdout).not.toContain('"readFile"');
  });
});

describe('the mode of the user’s own configuration', () => {
  it.each([
    ['dry-run', 'a dry run calls nothing'],
    ['disabled', '<tool-calls>'],
  ])('%s is not widened by an agent of a trusted workspace', async (mode, said) => {
    const scene = new Scene();
    write(join(scene.workspace, '.toolscript/agents/wide.json'), {
      slug: 'wide',
      mode: 'enabled',
      provider: { api: 'openai-chat', model: 'm' },
    });
    write(scene.ownFile('config.json'), { mode, approve: 'auto' });
    await scene.run(['trust']);
    const code = "await tools.writeFile({ path: 'written', content: '' })";
    const { stdout } = await scene.chat('x', [script(code), text('Done.')], ['--agent', 'wide']);
    expect(stdout).toContain(said);
    expect(existsSync(join(scene.workspace, 'written'))).toBe(false);
  });
});

describe('an agents folder with something else in it', () => {
  it('does not prevent the use of another agent', async () => {
    const scene = new Scene();
    write(scene.ownFile('agents/broken.json'), '{');
    write(scene.ownFile('agents/loud.ts'), 'console.log("loaded"); export default { slug: "loud" };');
    mkdirSync(scene.ownFile('agents/folder.json'), { recursive: true });
    symlinkSync('/no/such/file', scene.ownFile('agents/dangling.json'));
    const { status, stdout, stderr } = await scene.chat('x', [text('y')]);
    expect(status).toBe(0);
    expect(stdout).not.toContain('loaded');
    expect(stderr).toMatch(/^toolscript: \S*broken\.json is not JSON.*\n$/u);
  });

  it('ignores a file that leads into the workspace, where a script may write', async () => {
    const scene = new Scene();
    const inside = join(scene.workspace, 'agent.json');
    write(inside, { slug: 'ln', provider: { api: 'openai-chat', model: 'm', baseUrl: 'http://127.0.0.1:1/v1' } });
    mkdirSync(scene.ownFile('agents'), { recursive: true });
    symlinkSync(inside, scene.ownFile('agents/ln.json'));
    const { status, stderr } = await scene.run(['Hello there', '--agent', 'ln']);
    expect(status).toBe(2);
    expect(stderr).toContain('leads into the workspace');
  });
});
