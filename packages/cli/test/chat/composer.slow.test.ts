import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasTmux, Tmux } from '../support/tmux.js';
import { script, text } from './scene.js';

const WRITE = `return await tools.writeFile({ path: 'a.txt', content: 'x' })`;

describe.skipIf(!hasTmux)('the composer in tmux', () => {
  it('queues a message that is typed while the model works, outside of the answer', async () => {
    const tmux = new Tmux();
    tmux.start([script('console.log("begun"); await sleep(4000);', 'I work.'), text('First.'), text('Second.')]);
    await tmux.see('Type a prompt');
    tmux.type('one');
    tmux.keys('Enter');
    await tmux.see('[script] begun');
    tmux.type('and two');
    await tmux.see('› and two');
    tmux.keys('Enter');
    await tmux.see('queued: and two');
    const shown = await tmux.see('Second.');
    expect(shown).toMatch(/First\.[\s\S]*\n› and two\n+Second\./u);
  });

  it('keeps text without Enter for the next prompt, and survives a resize', async () => {
    const tmux = new Tmux();
    tmux.start([script('console.log("begun"); await sleep(3000);'), text('First.'), text('Second.')]);
    await tmux.see('Type a prompt');
    tmux.type('one');
    tmux.keys('Enter');
    await tmux.see('[script] begun');
    tmux.type('half');
    tmux.resize(40);
    await tmux.see(/First\.[\s\S]*\n› half/u);
    tmux.type(' done');
    tmux.keys('Enter');
    expect(await tmux.see('Second.')).toContain('› half done');
  });

  it('stops the turn on Escape', async () => {
    const tmux = new Tmux();
    tmux.start([script('console.log("begun"); await sleep(100_000);')]);
    await tmux.see('Type a prompt');
    tmux.type('one');
    tmux.keys('Enter');
    await tmux.see('[script] begun');
    tmux.keys('Escape');
    await tmux.see('stopped');
  });

  it('changes the mode with Shift-Tab: plan refuses, auto-edit writes without a question', async () => {
    const tmux = new Tmux();
    tmux.start([script(WRITE), text('Planned.'), script(WRITE), text('Written.')]);
    await tmux.see('Type a prompt');
    tmux.type('/mode plan');
    tmux.keys('Enter');
    await tmux.see('plan ›');
    tmux.type('do it');
    tmux.keys('Enter');
    await tmux.see('Planned.');
    expect(existsSync(join(tmux.scene.workspace, 'a.txt'))).toBe(false);
    tmux.keys('BTab');
    tmux.keys('BTab');
    await tmux.see('auto-edit ›');
    tmux.type('now');
    tmux.keys('Enter');
    await tmux.see('Written.');
    expect(existsSync(join(tmux.scene.workspace, 'a.txt'))).toBe(true);
  });

  it('completes commands and files, and sends the text of a mentioned file', async () => {
    const tmux = new Tmux();
    writeFileSync(join(tmux.scene.workspace, 'notes.md'), 'remember the milk');
    tmux.start([{ parts: [{ type: 'text', text: 'Milk.' }], expect: ['remember the milk'] }]);
    await tmux.see('Type a prompt');
    tmux.type('/st');
    tmux.keys('Tab');
    await tmux.see('› /status');
    tmux.keys('Enter');
    await tmux.see(/ {2}mode +ask/u);
    tmux.type('read @not');
    tmux.keys('Tab');
    await tmux.see('read @notes.md');
    tmux.keys('Enter');
    await tmux.see('Milk.');
  });

  it('has the conversation summarised with /compact, which says its size before and after', async () => {
    const tmux = new Tmux();
    tmux.start([
      text('A long answer. '.repeat(200)),
      { parts: [{ type: 'text', text: 'All is said.' }], expect: ['Write a summary'] },
      { begins_anew: true, parts: [{ type: 'text', text: 'Second.' }], expect: ['All is said.'] },
    ]);
    await tmux.see('Type a prompt');
    await tmux.send('/compact');
    await tmux.see('This conversation has nothing new to summarise.');
    await tmux.send('one');
    await tmux.see(/1 answer[\s\S]*\n› ?$/u);
    await tmux.send('/compact');
    await tmux.see(/… the conversation was summarised: [\d.k]+ tokens before, [\d.k]+ after[\s\S]*\n› ?$/u);
    await tmux.send('/compact');
    await tmux.see(/\/compact\n+.*This conversation has nothing new to summarise\./u);
    await tmux.send('two');
    await tmux.see('Second.');
  });

  it('refuses unknown commands, forks the conversation, and shows its cost', async () => {
    const tmux = new Tmux();
    tmux.start([text('First.'), text('Second.')]);
    await tmux.see('Type a prompt');
    tmux.type('/frok');
    tmux.keys('Enter');
    await tmux.see('Did you mean /fork?');
    tmux.type('one');
    tmux.keys('Enter');
    await tmux.see('First.');
    tmux.type('/cost');
    tmux.keys('Enter');
    await tmux.see(/1 answer[\s\S]*› \/cost\n1 answer/u);
    tmux.type('/fork');
    tmux.keys('Enter');
    await tmux.see(/Continuing thr_\w+ after 1 prompt/u);
  });
});
