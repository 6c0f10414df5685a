import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasTmux, Tmux } from '../support/tmux.js';
import { script, text, type Turn } from './scene.js';

/** The number of prompts. 200 are about three hours of a user's work. */
const PROMPTS = Number(process.env['TOOLSCRIPT_TEST_PROMPTS'] ?? 20);
const TIMEOUT_MS = 300_000 + PROMPTS * 30_000;

/** The maximum growth of the program's memory from its fifth prompt to its last one, in MB. */
const MAX_GROWTH_MB = 128;

type Kind = 'answer' | 'approve' | 'interrupt' | 'kill';

function kindOf(prompt: number): Kind {
  if (prompt % 20 === 11) return 'kill';
  if (prompt % 5 === 0) return 'approve';
  return [3, 6, 8].includes(prompt % 10) ? 'interrupt' : 'answer';
}

function turnsOf(prompt: number): Turn[] {
  switch (kindOf(prompt)) {
    case 'answer':
      return [script('return (await tools.listDir({})).entries.length'), text(`Answer ${prompt}.`)];
    case 'approve': {
      const path = fileOf(prompt);
      return [script(`await tools.writeFile({ path: '${path}', content: '${prompt}' })`), text(`Answer ${prompt}.`)];
    }
    case 'interrupt':
    case 'kill':
      return [script(`console.log("begun ${prompt}."); await sleep(3_000_000)`)];
  }
}

function fileOf(prompt: number): string {
  return `file-${prompt}.txt`;
}

/** A user who works at the terminal for hours. */
class Worker {
  readonly tmux = new Tmux();
  #memory: number[] = [];
  readonly #processes: number[][] = [];

  async start(from: number, ...flags: string[]): Promise<void> {
    this.#memory = [];
    this.#processes.push(this.#memory);
    const rest = Array.from({ length: PROMPTS - from + 1 }, (_, index) => turnsOf(from + index));
    this.tmux.start(rest.flat(), ...flags);
    await this.tmux.see(/\/help lists/u);
  }

  async prompt(number: number): Promise<void> {
    const { tmux } = this;
    const kind = kindOf(number);
    await tmux.send(`prompt ${number}.`);
    if (kind === 'kill') {
      await tmux.see(`[script] begun ${number}.`);
      await tmux.kill();
      return this.start(number + 1, '--continue');
    }
    if (kind === 'interrupt') {
      await tmux.see(`[script] begun ${number}.`);
      tmux.keys('Escape');
      await tmux.see(new RegExp(`begun ${number}\\.[\\s\\S]*stopped[\\s\\S]*\\n›`, 'u'));
    } else {
      if (kind === 'approve') {
        await tmux.see(new RegExp(`${fileOf(number)}[\\s\\S]*Allow it\\?`, 'u'));
        tmux.type('y');
      }
      await tmux.see(new RegExp(`Answer ${number}\\.[\\s\\S]*\\n›`, 'u'));
    }
    this.#memory.push(tmux.memoryMb());
  }

  /** The greatest growth of the memory of a process since its fifth prompt, in MB. */
  get growthMb(): number {
    const long = this.#processes.filter(({ length }) => length > 5);
    return Math.max(...long.map((memory) => memory.at(-1)! - memory[4]!));
  }
}

describe.skipIf(!hasTmux || !existsSync('/proc/self/status'))('hours of work at the terminal', () => {
  it(
    'lose nothing through interruptions, decisions, new widths and kills, and need no more memory at the end',
    async () => {
      const worker = new Worker();
      const { tmux } = worker;
      await worker.start(1);
      for (let prompt = 1; prompt <= PROMPTS; prompt++) {
        if (prompt % 7 === 0) tmux.resize(prompt % 2 === 0 ? 100 : 60);
        await worker.prompt(prompt);
      }
      expect(worker.growthMb).toBeLessThan(MAX_GROWTH_MB);
      tmux.resize(200);
      await tmux.send('/export all.md');
      await tmux.see('all.md');
      const path = join(tmux.scene.workspace, 'all.md');
      await tmux.see(/\n› ?$/u);
      const exported = readFileSync(path, 'utf8');
      for (let prompt = 1; prompt <= PROMPTS; prompt++) {
        const kind = kindOf(prompt);
        expect(exported).toContain(`prompt ${prompt}.`);
        if (kind === 'answer' || kind === 'approve') expect(exported).toContain(`Answer ${prompt}.`);
        if (kind === 'approve')
          expect(readFileSync(join(tmux.scene.workspace, fileOf(prompt)), 'utf8')).toBe(String(prompt));
      }
    },
    TIMEOUT_MS,
  );
});
