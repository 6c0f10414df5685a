import { join } from 'node:path';
import { newFolder } from '@toolscript/testkit/folder';
import { expect, it } from 'vitest';
import { toolscript } from '../support/program.js';

const ROUNDS = 3;

it('the first commands of a user, all at once, each do their work in the folder that none of them has yet', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const home = newFolder({ 'script.ts': 'return 6 * 7' });
    const script = join(home, 'script.ts');
    const env = { XDG_DATA_HOME: join(home, 'data'), XDG_CONFIG_HOME: join(home, 'config') };
    const commands = [['keys', 'add', 'ada'], ['keys', 'add', 'bob'], ['run', script], ['run', script], ['threads']];
    const ends = await Promise.all(commands.map((command) => toolscript(command, { env })));
    for (const [index, { status, stderr }] of ends.entries())
      expect([commands[index], status, /EEXIST/u.test(stderr)], stderr).toEqual([commands[index], 0, false]);
    const { stdout } = await toolscript(['keys', 'list'], { env });
    for (const name of ['ada', 'bob']) expect(stdout).toContain(name);
  }
});
