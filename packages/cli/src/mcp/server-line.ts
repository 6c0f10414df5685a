import { shellWord } from '../terminal/shell-word.js';
import { visibleLine } from '../terminal/untrusted.js';

/** A server of a configuration on one line: its name and what is started or connected to. No variables are expanded. */
export function serverLine(name: string, entry: unknown): string {
  const { command, url } = targetOf(entry);
  const target = command?.map(shellWord).join(' ') ?? url ?? 'without "command" or "url"';
  return `${visibleLine(name)}: ${visibleLine(target)}`;
}

/** The program with its arguments, or the address, of an entry that need not be valid. */
export function targetOf(entry: unknown): { command?: string[]; url?: string } {
  const { command, args, url } = (entry ?? {}) as { command?: unknown; args?: unknown; url?: unknown };
  if (typeof command === 'string')
    return { command: [command, ...(Array.isArray(args) ? (args as unknown[]) : [])].map(String) };
  return typeof url === 'string' ? { url } : {};
}
