import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { hasTmux, Tmux } from '../support/tmux.js';
import { script, text } from './scene.js';

const PROMPT = 'Allow it?';

function lines(count: number, word: string): string {
  return Array.from({ length: count }, (_, index) => `${word} ${index}\n`).join('');
}

function write(content: string, path = 'a.txt'): string {
  return `return await tools.writeFile({ path: '${path}', content: ${JSON.stringify(content)} })`;
}

describe.skipIf(!hasTmux)('a question in tmux', () => {
  it('shows a diff of the overwritten file, shortens a long one, and v shows all of it', async () => {
    const tmux = new Tmux();
    const file = join(tmux.scene.workspace, 'a.txt');
    writeFileSync(file, lines(60, 'old'));
    tmux.start([script(write(lines(60, 'new'))), text('Written.')]);
    await tmux.see('Type a prompt');
    await tmux.send('do it');
    const question = await tmux.see(PROMPT);
    expect(question).toContain('-old 0');
    expect(question).toMatch(/… \d+ more lines: \[v\] shows all/u);
    expect(question).not.toContain('+new 59');
    tmux.type('v');
    await tmux.see(/\+new 59[\s\S]*Allow it\?/u);
    tmux.type('y');
    await tmux.see('Written.');
    expect(readFileSync(file, 'utf8')).toBe(lines(60, 'new'));
  });

  it('is asked in every mode, and whatever was allowed before, if untrusted text chose the path', async () => {
    const page = createServer((_request, response) => response.end('evil.txt')).listen(0, '127.0.0.1');
    onTestFinished(() => void page.close());
    await once(page, 'listening');
    const { port } = page.address() as AddressInfo;
    const tmux = new Tmux();
    const configuration = {
      flow: 'destinations',
      web: { allow: ['127.0.0.1'] },
      expose: { tools: ['fetchUrl', 'writeFile'] },
      rules: [{ tool: 'writeFile', action: 'approve' }],
    };
    mkdirSync(dirname(tmux.scene.ownFile('config.json')), { recursive: true });
    writeFileSync(tmux.scene.ownFile('config.json'), JSON.stringify(configuration));
    const code = `const { fetches } = await tools.fetchUrl({ urls: 'http://127.0.0.1:${port}/' });
      await tools.writeFile({ path: 'good.txt', content: 'x' });
      return await tools.writeFile({ path: fetches[0].content.trim(), content: 'x' })`;
    tmux.start([script(code), text('Written.')], '--approve', 'auto');
    await tmux.see('auto ›');
    await tmux.send('do it');
    const question = await tmux.see(PROMPT);
    expect(question).toContain('✓ writeFile good.txt');
    expect(question).toMatch(/path: from fetchUrl/u);
    tmux.type('n');
    await tmux.see(/reason|Why/u);
    tmux.keys('Enter');
    await tmux.see(/\nauto › ?$/u);
    expect(existsSync(join(tmux.scene.workspace, 'evil.txt'))).toBe(false);
  });

  it('keeps plan mode with --approve auto', async () => {
    const tmux = new Tmux();
    tmux.start([script(write('x')), text('Planned.')], '--approve', 'auto');
    await tmux.see('auto ›');
    await tmux.send('/mode plan');
    await tmux.see('plan ›');
    await tmux.send('do it');
    await tmux.see('Planned.');
    expect(existsSync(join(tmux.scene.workspace, 'a.txt'))).toBe(false);
  });

  it('is answered by Shift-Tab when the next mode allows the call', async () => {
    const tmux = new Tmux();
    tmux.start([script(write('x')), text('Written.'), script(write('y', 'b.txt')), text('Again.')]);
    await tmux.see('Type a prompt');
    await tmux.send('do it');
    await tmux.see(PROMPT);
    tmux.keys('BTab');
    await tmux.see('mode auto-edit');
    await tmux.see('Written.');
    await tmux.see('auto-edit ›');
    await tmux.send('again');
    await tmux.see('Again.');
    expect(existsSync(join(tmux.scene.workspace, 'b.txt'))).toBe(true);
  });

  it('allows the same calls until the program ends with s, and stores no rule', async () => {
    const tmux = new Tmux();
    const turns = [script(write('x')), text('First.'), script(write('y')), text('Second.')];
    tmux.start(turns);
    await tmux.see('Type a prompt');
    await tmux.send('one');
    await tmux.see(PROMPT);
    tmux.type('s');
    await tmux.see('First.');
    await tmux.send('two');
    const shown = await tmux.see('Second.');
    expect(shown.split(PROMPT)).toHaveLength(2);
    const { stdout } = await tmux.scene.toolscript(['rules'], { cwd: tmux.scene.workspace, env: tmux.scene.env });
    expect(stdout).not.toContain('writeFile');
  });
});

describe.skipIf(!hasTmux)('the start in tmux', () => {
  it('shows the model, the folder and the instructions of the project', async () => {
    const tmux = new Tmux();
    writeFileSync(join(tmux.scene.workspace, 'AGENTS.md'), 'Test with npm test.');
    tmux.start([{ parts: [{ type: 'text', text: 'Hello.' }], expect: ['hi'] }]);
    expect(await tmux.see('Type a prompt')).toContain('A scripted model');
    await tmux.send('/status');
    await tmux.see(/instructions +AGENTS\.md/u);
    await tmux.send('hi');
    await tmux.see(/Hello\.[\s\S]*1 answer/u);
    await tmux.send('/exit');
    await vi.waitFor(() => expect(tmux.isOpen()).toBe(false), 60_000);
  });

  it('without a key lists the providers, tests the key, stores it, and begins', async () => {
    const keys: (string | undefined)[] = [];
    const service = createServer(({ headers }, response) => {
      keys.push(headers.authorization);
      response.end('{"data":[]}');
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void service.close());
    await once(service, 'listening');
    const tmux = new Tmux();
    tmux.open([], { OPENAI_BASE_URL: `http://127.0.0.1:${(service.address() as AddressInfo).port}` });
    expect(await tmux.see('Connect which one')).toMatch(/openai +OpenAI: not connected\nanthropic/u);
    tmux.type('openai');
    tmux.keys('Enter');
    await tmux.see('Key of OpenAI (not shown):');
    tmux.type('sk-right');
    tmux.keys('Enter');
    const shown = await tmux.see('Type a prompt');
    expect(shown).toContain('OpenAI accepts the key.');
    expect(shown).not.toContain('sk-right');
    expect(keys).toEqual(['Bearer sk-right']);
    const file = join(tmux.scene.data, 'toolscript/provider-keys.json');
    expect(readFileSync(file, 'utf8')).toContain('sk-right');
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('sends a prompt of several lines with a file and an image', async () => {
    const tmux = new Tmux();
    const image = Buffer.from('89504e470d0a1a0a0000000d4948445200000003000000020802000000', 'hex');
    writeFileSync(join(tmux.scene.workspace, 'notes.md'), 'remember the milk');
    writeFileSync(join(tmux.scene.workspace, 'pixels.png'), image);
    const expected = ['compare\nthese: @notes.md @pixels.png', 'remember the milk', image.toString('base64')];
    tmux.start([{ parts: [{ type: 'text', text: 'Compared.' }], expect: expected }]);
    await tmux.see('Type a prompt');
    tmux.type('compare\\');
    tmux.keys('Enter');
    await tmux.see(/compare\\\n›/u);
    await tmux.send('these: @notes.md @pixels.png');
    await tmux.see('Compared.');
  });
});

describe.skipIf(!hasTmux)('/undo in tmux', () => {
  it('shows the diffs of what a command changed, asks, and reverts it', async () => {
    const tmux = new Tmux();
    const { workspace } = tmux.scene;
    execFileSync('git', ['init', '-q'], { cwd: workspace });
    writeFileSync(join(workspace, 'a.txt'), 'old\n');
    const change = `return (await tools.exec({ command: ['sh', '-c', 'echo new > a.txt; echo b > b.txt'] })).exitCode`;
    tmux.start([script(change), text('Changed.')], '--exec-sandbox', 'off');
    await tmux.see('Type a prompt');
    await tmux.send('change it');
    await tmux.see(PROMPT);
    tmux.type('y');
    await tmux.see('Changed.');
    await tmux.send('/undo');
    const asked = await tmux.see('Undo this?');
    expect(asked).toMatch(/-new\n\+old/u);
    expect(asked).toContain('files that git ignores');
    tmux.type('y');
    await tmux.see('✓ Undone: 2 files');
    expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('old\n');
    expect(existsSync(join(workspace, 'b.txt'))).toBe(false);
  });
});

describe.skipIf(!hasTmux)('/bg in tmux', () => {
  it('works on a prompt in a new conversation, while the conversation at the terminal continues', async () => {
    const tmux = new Tmux();
    tmux.start([script('console.log("begun"); return 1;', 'I work.'), text('Done in the background.')]);
    await tmux.see('Type a prompt');
    await tmux.send('/bg do it');
    const runId = /run_\w+/u.exec(await tmux.see('runs attach run_'))![0];
    const attached = await tmux.scene.run(['runs', 'attach', runId]);
    expect(attached.stdout).toContain('Done in the background.');
    await tmux.send('/status');
    await tmux.see('not stored before the first prompt');
  });
});

describe.skipIf(!hasTmux)('a question with a bell in tmux', () => {
  it('rings when the program waits for the user', async () => {
    const tmux = new Tmux();
    const file = tmux.scene.ownFile('config.json');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify({ notify: 'bell' }));
    tmux.start([script(write('x')), text('Written.')]);
    await tmux.see('Type a prompt');
    expect(tmux.hasRung()).toBe(false);
    await tmux.send('do it');
    await tmux.see(PROMPT);
    expect(tmux.hasRung()).toBe(true);
  });
});
