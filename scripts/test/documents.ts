import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shownAtTerminal, stepsIn, type TerminalStep } from '@toolscript/testkit/tmux';

/**
 * Pages whose blocks are run.
 *
 * A comment before a fenced block defines its use:
 * - `<!-- file NAME -->`: written to the page's folder;
 * - `<!-- run -->`: run by the shell in that folder; `<!-- run, exit 1 -->` if it must fail;
 *   `<!-- run as COMMAND -->` if the reader types another command;
 * - `<!-- run at a terminal: WAIT => KEYS | WAIT => KEYS -->`: run by the shell in a terminal of tmux, where each text
 *   that appears is answered with keys (`⏎` is Enter); skipped with its output if tmux is missing;
 * - `<!-- output -->`: the output that the last run must have printed;
 * - `<!-- generated NAME -->`: must equal the text that the code generates (see the caller); also before a table;
 * - `<!-- not run: REASON -->`.
 *
 * Durations, progress of programs, temporary folders and made-up names may differ. With UPDATE_DOCUMENTS=1, the test
 * writes outputs and generated blocks instead of comparing them.
 */
export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

export interface MarkedBlock {
  readonly marker: string;
  readonly language: string;
  readonly content: string;
  /** The offset in the page at which the content begins. */
  readonly start: number;
}

/** The additional output of a fresh clone. */
const PREPARATION = /^(?:building|installing dependencies) …\n/gmu;

interface Edit {
  readonly block: MarkedBlock;
  readonly content: string;
}

const BLOCK = /(?:<!-- ([^\n]*?) -->\n)?^(`{3,})([^\n`]*)\n(.*?\n)??\2(?=\n|$)/gmsu;

export function readPage(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** Every fenced block of a page; `marker` is empty if no comment precedes the block. */
export function blocksOf(markdown: string): MarkedBlock[] {
  return [...markdown.matchAll(BLOCK)].map((match) => {
    const [whole, marker = '', fence = '', language = '', content = ''] = match;
    return { marker, language, content, start: match.index + whole.length - fence.length - content.length };
  });
}

/** The folder in which a page's commands run: as if it were the repository, without writing to it. */
export class PageFolder {
  readonly path: string;
  readonly #base: string;
  /** The home folder, which is next to the workspace, because users' own folders are never inside a workspace. */
  readonly #home: string;

  constructor() {
    this.#base = realpathSync(mkdtempSync(join(tmpdir(), 'toolscript-page-')));
    this.path = join(this.#base, 'page');
    this.#home = join(this.#base, 'home');
    mkdirSync(this.path);
    for (const name of ['node_modules', 'packages', 'scripts'])
      symlinkSync(join(root, name), join(this.path, name), 'dir');
    cpSync(join(root, 'examples'), join(this.path, 'examples'), {
      recursive: true,
      filter: (source) => !source.includes('node_modules'),
    });
    mkdirSync(join(this.#home, 'bin'), { recursive: true });
    const command = join(this.#home, 'bin/toolscript');
    writeFileSync(
      command,
      `#!/bin/sh\nexec "${process.execPath}" "${join(root, 'packages/cli/bin/toolscript.js')}" "$@"\n`,
      { mode: 0o755 },
    );
    // `npx toolscript` finds the same command in a clone.
    writeFileSync(join(this.#home, 'bin/npx'), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
  }

  /** The output on a terminal, and the exit status. */
  run(command: string): { output: string; status: number | null } {
    const { stdout, stderr, status } = spawnSync('sh', ['-c', `exec 2>&1\n${command}`], {
      cwd: this.path,
      encoding: 'utf8',
      timeout: 25_000,
      env: this.environment(),
    });
    return { output: stdout + stderr, status };
  }

  /** The text of the screen at the end; undefined if tmux is not installed. */
  runAtTerminal(command: string, steps: readonly TerminalStep[]): string | undefined {
    return shownAtTerminal(command, steps, { cwd: this.path, env: { ...this.environment(), TERM: 'xterm' } });
  }

  write(name: string, content: string): void {
    const path = join(this.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }

  remove(): void {
    rmSync(this.#base, { recursive: true, force: true });
  }

  /** The environment of a terminal whose user has nothing but this program. */
  environment(): NodeJS.ProcessEnv {
    const path = [join(this.#home, 'bin'), dirname(process.execPath), process.env.PATH].join(delimiter);
    return { PATH: path, HOME: this.#home, LANG: 'C.UTF-8', NO_COLOR: '1', TERM: 'dumb', TZ: 'UTC' };
  }
}

/** Runs a page from top to bottom. `check` is called with each pair of texts that must be equal. */
export function playPage(
  path: string,
  check: (found: string, expected: string) => void,
): { commands: number; outputs: number } {
  const folder = new PageFolder();
  const counts = { commands: 0, outputs: 0 };
  const edits: Edit[] = [];
  let last = '';
  let isSkipped = false;
  try {
    for (const block of blocksOf(readPage(path))) {
      const { marker, content } = block;
      const file = /^file (\S+)$/u.exec(marker)?.[1];
      const terminal = /^run at a terminal(?:: (.+))?$/u.exec(marker);
      const run = /^run(?:, exit (\d+))?(?: as (.+))?$/u.exec(marker);
      if (file !== undefined) folder.write(file, content);
      else if (terminal !== null) {
        const shown = folder.runAtTerminal(content, stepsIn(terminal[1] ?? ''));
        isSkipped = shown === undefined;
        last = (shown ?? '').replaceAll(folder.path, '.');
        counts.commands += 1;
      } else if (run !== null) {
        isSkipped = false;
        const result = folder.run(run[2] ?? content);
        check(
          `exit ${result.status}${result.status === Number(run[1] ?? 0) ? '' : `\n${result.output}`}`,
          `exit ${run[1] ?? 0}`,
        );
        last = result.output.replaceAll(folder.path, '.').replaceAll(PREPARATION, '');
        counts.commands += 1;
      } else if (marker === 'output') {
        counts.outputs += 1;
        if (isSkipped || settled(last) === settled(content)) continue;
        if (process.env.UPDATE_DOCUMENTS === undefined) check(settled(last), settled(content));
        else edits.push({ block, content: `${last.trimEnd()}\n` });
      }
    }
  } finally {
    folder.remove();
  }
  writeEdits(path, edits);
  return counts;
}

/** Compares a generated block, or writes it. */
export function checkGenerated(
  path: string,
  name: string,
  generated: string,
  check: (found: string, expected: string) => void,
): void {
  const block = blocksOf(readPage(path)).find(({ marker }) => marker === `generated ${name}`);
  if (block === undefined) throw new Error(`${path} has no block "generated ${name}"`);
  const text = `${generated.trimEnd()}\n`;
  if (block.content === text) return;
  if (process.env.UPDATE_DOCUMENTS === undefined) check(block.content, text);
  else writeEdits(path, [{ block, content: text }]);
}

/** The rows below `<!-- generated NAME -->` must equal the generated ones. With UPDATE_DOCUMENTS=1, they are written. */
export function checkGeneratedTable(
  path: string,
  name: string,
  rows: readonly (readonly string[])[],
  check: (found: string, expected: string) => void,
): void {
  const found = new RegExp(`(?<=<!-- generated ${name} -->\\n\\n)(?:\\|[^\\n]*\\n)+`, 'u').exec(readPage(path));
  if (found === null) throw new Error(`${path} has no table "generated ${name}"`);
  const [head = [], ...others] = rows;
  const lines = [head, head.map(() => '---'), ...others].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
  if (found[0] === lines) return;
  if (process.env.UPDATE_DOCUMENTS === undefined) check(found[0], lines);
  else
    writeEdits(path, [{ block: { marker: '', language: '', content: found[0], start: found.index }, content: lines }]);
}

function writeEdits(path: string, edits: readonly Edit[]): void {
  if (edits.length === 0) return;
  let page = readPage(path);
  for (const { block, content } of edits.toReversed()) {
    page = page.slice(0, block.start) + content + page.slice(block.start + block.content.length);
  }
  writeFileSync(join(root, path), page);
}

/** The text without the parts that differ between runs: durations, made-up names, the order of concurrent calls. */
function settled(text: string): string {
  const plain = text
    .replaceAll(/\b\d+(?:\.\d+)?\s?(?:ms|s|µs)\b/gu, '# ms')
    .replaceAll(/\b(scr|run|thr|turn|item|call|evt)_[\w-]{10,}/gu, '$1_#')
    .replaceAll(/\bapr_(?:[0-9a-f]{32}|[0-9a-f-]{36})/gu, 'apr_#')
    .replaceAll(/\/\S*\/toolscript-[a-z-]+-\w{6}/gu, '/…')
    // A program's progress messages depend on its speed.
    .replaceAll(/^ {2}… .*\n/gmu, '')
    .replaceAll(/[ \t]+$/gmu, '')
    .trim();
  return plain.replaceAll(
    /(?:^ {2}✓ (\w+) .*\n)(?: {2}✓ \1 .*\n)+/gmu,
    (calls) => `${calls.trimEnd().split('\n').toSorted().join('\n')}\n`,
  );
}
