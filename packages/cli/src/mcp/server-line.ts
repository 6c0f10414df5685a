import { shellWord } from '../terminal/own-command.js';
import { visibleWord } from '../terminal/untrusted.js';

/** Describes a server on one line: its name, and its program or address. Does not expand variables. */
export function serverLine(name: string, entry: unknown): string {
  const { command, url } = serverTarget(entry);
  const targets = [command?.map(shellWord).join(' '), url === undefined ? undefined : visibleWord(url)];
  const known = targets.filter((target) => target !== undefined);
  const state = (entry as { disabled?: unknown } | null)?.disabled === true ? ' (disabled)' : '';
  return `${visibleWord(name)}: ${known.length === 0 ? 'without "command" or "url"' : known.join(' and ')}${state}`;
}

/** The program with its arguments, or the address. The entry may be invalid. */
export function serverTarget(entry: unknown): { command?: string[] | undefined; url?: string | undefined } {
  const { command, args, url } = (entry ?? {}) as { command?: unknown; args?: unknown; url?: unknown };
  const words = [command, ...(Array.isArray(args) ? (args as unknown[]) : [])].map(String);
  return { ...(typeof command === 'string' ? { command: words } : {}), ...(typeof url === 'string' ? { url } : {}) };
}
