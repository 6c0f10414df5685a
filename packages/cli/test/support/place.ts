import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { inProcess } from './in-process.js';
import { finished, PROGRAM, start, toolscript, type Finished, type StartOptions } from './program.js';
import { newFolder } from '@toolscript/testkit/folder';

/** A user's own folders, a workspace, and a shell in which the program is found by its name. */
export class Place {
  readonly base = newFolder();
  readonly workspace = join(this.base, 'workspace');
  readonly data = join(this.base, 'data');
  readonly env: Record<string, string>;

  constructor() {
    const bin = join(this.base, 'bin');
    for (const folder of [this.workspace, bin]) mkdirSync(folder);
    symlinkSync(PROGRAM, join(bin, 'toolscript'));
    this.env = {
      XDG_CONFIG_HOME: join(this.base, 'config'),
      XDG_DATA_HOME: this.data,
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
    };
  }

  /** The folder of this program in the user's data. */
  kept(...names: string[]): string {
    return join(this.data, 'toolscript', ...names);
  }

  /** An answer of these scripts, with text around them. */
  answer(...scripts: string[]): string {
    const path = join(this.base, 'answer.md');
    const blocks = scripts.map((source) => `<tool-calls>\n${source}\n</tool-calls>\n`);
    writeFileSync(path, `Before.\n${blocks.join('Between.\n')}After.\n`);
    return path;
  }

  toolscript(args: readonly string[], options: StartOptions = {}): Promise<Finished> {
    return toolscript(args, { cwd: this.workspace, ...options, env: { ...this.env, ...options.env } });
  }

  /** The same in this process, which is faster. */
  run(args: readonly string[], { cwd = this.workspace, env }: Omit<StartOptions, 'stdin'> = {}): Promise<Finished> {
    return inProcess(args, { cwd, env: { ...this.env, ...env } });
  }

  shell(command: string): Promise<Finished> {
    return finished(start('sh', ['-c', command], { cwd: this.workspace, env: this.env }));
  }

  /** Runs an answer with these scripts, which must suspend. Returns the id and the printed text. */
  async suspend(...scripts: string[]): Promise<{ id: string; stdout: string }> {
    const { status, stdout, stderr } = await this.run(['run', this.answer(...scripts)]);
    expect(status, stdout + stderr).toBe(3);
    return { id: scriptIdIn(stdout), stdout };
  }
}

export function scriptIdIn(text: string): string {
  const [id] = /scr_[\w-]+/u.exec(text) ?? [];
  expect(id, text).toBeDefined();
  return id!;
}
