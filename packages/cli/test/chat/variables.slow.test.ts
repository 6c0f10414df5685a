import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROGRAM } from '../support/program.js';
import { atTerminal, hasTerminal } from '../support/terminal.js';
import { Scene, script, text, type Turn } from './scene.js';

const SIGN = '› ';
const CTRL_D = '\x04';

/** Types each text when the screen shows its cue, in a conversation with this agent file. */
async function talk(agent: object, turns: readonly Turn[], presses: readonly (readonly [string, string])[]) {
  const scene = new Scene();
  mkdirSync(join(scene.ownFile('agents')), { recursive: true });
  writeFileSync(scene.ownFile('agents/mine.json'), JSON.stringify({ slug: 'mine', ...agent }));
  const model = [...scene.model(...turns), '--agent', 'mine'].join(' ');
  const command = `cd ${scene.workspace} && stty cols 80 && exec ${process.execPath} ${PROGRAM} ${model}`;
  const { status, shown } = await atTerminal(command, presses, { ...scene.env, NO_COLOR: '1' });
  return { status, shown: shown.replaceAll(/\x1b\[[\d;?]*[A-Za-z]/gu, '').replaceAll('\r', '') };
}

describe.skipIf(!hasTerminal)('/vars at a terminal (skipped where util-linux `script` gives none)', () => {
  it('lists what the next script can use, with types and without values', async () => {
    const turns = [
      script('const rows = [{ city: "Oslo" }];\nfunction report(city: string) { return city + "!" }'),
      text('Read.'),
      script('const names = rows.map((row) => report(row.city));\nreturn names.length'),
      text('Counted.'),
    ];
    const { status, shown } = await talk({ scripts: 'one-program' }, turns, [
      [SIGN, '/vars\r'],
      ['No script of this conversation has left a variable yet.', ''],
      [SIGN, 'Read the rows\r'],
      ['Read.', ''],
      [SIGN, '/vars\r'],
      ['  report(city: string): string', ''],
      [SIGN, 'Count them\r'],
      ['Counted.', ''],
      [SIGN, '/vars\r'],
      ['  names: string[]', ''],
      [SIGN, CTRL_D],
    ]);
    expect(status).toBe(0);
    const lists = '  rows: { city: string; }[]\n  report(city: string): string\n';
    expect(shown.split(lists)).toHaveLength(3);
    expect(shown).toContain(`${lists}  names: string[]\n`);
  });

  it('names the setting where scripts share nothing', async () => {
    const { status, shown } = await talk(
      {},
      [],
      [
        [SIGN, '/vars\r'],
        ['To share them, set "scripts": "one-program" in its file.', ''],
        [SIGN, CTRL_D],
      ],
    );
    expect([status, shown.includes('Scripts of this agent share no variables.')]).toEqual([0, true]);
  });
});
