import { shellWord } from '../terminal/own-command.js';
import { visibleWord } from '../terminal/untrusted.js';

/** Describes a server on one line: its name, and its program, address or OpenAPI document. Does not expand variables. */
export function serverLine(name: string, entry: unknown): string {
  const { command, url, openapi } = serverTarget(entry);
  const targets = [
    command?.map(shellWord).join(' '),
    url && visibleWord(url),
    openapi && `the OpenAPI document ${visibleWord(openapi)}`,
  ];
  const known = targets.filter((target) => target !== undefined);
  const state = (entry as { disabled?: unknown } | null)?.disabled === true ? ' (disabled)' : '';
  return `${visibleWord(name)}: ${known.length === 0 ? 'without "command", "url" or "openapi"' : known.join(' and ')}${state}`;
}

interface ServerTarget {
  command?: string[] | undefined;
  url?: string | undefined;
  openapi?: string | undefined;
}

/** The program with its arguments, the address, or the OpenAPI document. The entry may be invalid. */
export function serverTarget(entry: unknown): ServerTarget {
  const { command, args, url, openapi } = (entry ?? {}) as Record<string, unknown>;
  const words = [command, ...(Array.isArray(args) ? (args as unknown[]) : [])].map(String);
  return {
    ...(typeof command === 'string' ? { command: words } : {}),
    ...(typeof url === 'string' ? { url } : {}),
    ...(typeof openapi === 'string' ? { openapi } : {}),
  };
}
