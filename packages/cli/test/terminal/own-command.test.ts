import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startCommand } from '#cli/terminal/own-command.js';

it('the program names itself as its user called it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-own-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const program = join(folder, 'program.js');
  writeFileSync(program, '');
  const linked = join(folder, 'toolscript');
  expect(startCommand(program, { PATH: folder })).toBe(`node ${program}`);
  expect(startCommand(join(folder, 'with space.js'), {})).toBe(`node '${folder}/with space.js'`);
  symlinkSync(program, linked);
  expect(startCommand(linked, { PATH: `/nowhere:${folder}` })).toBe('toolscript');
  expect(startCommand(linked, { PATH: folder, npm_command: 'exec' })).toBe('npx toolscript');
  expect(startCommand(linked, { PATH: '/nowhere' })).toBe(`node ${linked}`);
});
