import { shellWord } from '../terminal/shell-word.js';
import { visibleLine } from '../terminal/untrusted.js';

/** A server of a configuration on one line: its name and what is started or connected to. No variables are expanded. */
export function serverLine(name: string, entry: unknown): string {
  return `${visibleLine(name)}: ${visibleLine(targetOf(entry))}`;
}

function targetOf(entry: unknown): string {
  const { command, args, url } = (entry ?? {}) as { command?: unknown; args?: unknown; url?: unknown };
  if (typeof url === 'string') return url;
  const words = [command, ...(Array.isArray(args) ? (args as unknown[]) : [])];
  return words.map((word) => shellWord(String(word))).join(' ');
}
