import { chmod, readFile, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { writePrivateFile } from '@toolscript/core/internal';
import { agrees } from '../approvals/agrees.js';
import { EXIT } from '../exit-status.js';
import { CLIENTS } from '../mcp/client-configurations.js';
import { ownProgram } from '../terminal/own-command.js';
import { openScreen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { systemCode, UsageError } from '../usage-error.js';

export interface InstallFlags {
  /** Removes the gateway from the configuration. */
  remove?: boolean | undefined;
  /** Writes the file without a question. */
  yes?: boolean | undefined;
}

/**
 * Adds the gateway to the configuration of a client, or removes it. Shows the change first, and writes it if the user
 * agrees.
 */
export async function installIn(client: string, { remove = false, yes = false }: InstallFlags): Promise<number> {
  const screen = openScreen();
  const configuration = CLIENTS[client];
  if (configuration === undefined)
    throw new UsageError(
      `There is no client "${visibleLine(client)}". The clients are: ${Object.keys(CLIENTS).join(', ')}.`,
    );
  const { title, change } = configuration;
  const path = configuration.path({ home: homedir(), environment: process.env, platform: process.platform });
  const { command, args } = ownProgram();
  const program = remove ? undefined : { command, args: [...args, 'mcp'] };
  const before = await readConfiguration(path);
  const after = change(before, program, path);
  if (after === before) {
    screen.line(
      remove ? `${title} does not have Toolscript: ${visibleLine(path)}` : `${title} has Toolscript already.`,
    );
    return EXIT.completed;
  }
  screen.line(visibleLine(path));
  for (const line of changedLines(before, after)) screen.line(visibleLine(line));
  if (!yes && !(await agrees('Write this?', 'Read the change above, then add --yes.'))) {
    screen.line('Nothing was written.');
    return EXIT.failed;
  }
  // The client may have written its file since.
  await writeConfiguration(path, change(await readConfiguration(path), program, path));
  screen.line(remove ? `Removed. Restart ${title}.` : `Added. Restart ${title}. To remove it: add --remove.`);
  return EXIT.completed;
}

/** The text of a file; empty if the file does not exist. */
async function readConfiguration(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT') return '';
    throw new UsageError(
      `${visibleLine(path)} cannot be read (${code ?? 'unknown error'}). Make the file readable for your user.`,
    );
  }
}

/** Writes the whole file or nothing. A link stays a link, and the permissions of an existing file stay. */
async function writeConfiguration(path: string, text: string): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const mode = await stat(target).then(
    (found) => found.mode,
    () => undefined,
  );
  try {
    await writePrivateFile(target, text);
    if (mode !== undefined) await chmod(target, mode & 0o777);
  } catch (error) {
    throw new UsageError(
      `${visibleLine(path)} cannot be written (${systemCode(error) ?? 'unknown error'}). Make the file writable for your user.`,
    );
  }
}

/** The lines that a change removes and adds. */
function changedLines(before: string, after: string): string[] {
  const [old, now] = [before, after].map((text) => text.split('\n')) as [string[], string[]];
  const shorter = Math.min(old.length, now.length);
  let start = 0;
  while (start < shorter && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < shorter - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const changed = (lines: string[], mark: string) =>
    lines.slice(start, lines.length - end).flatMap((line) => (line === '' ? [] : [`${mark} ${line}`]));
  return [...changed(old, '-'), ...changed(now, '+')];
}
