import { join } from 'node:path';
import { isRecord } from '@toolscript/core/internal';
import { jsonErrorLine } from '../configuration/json-files.js';
import type { Environment } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';

/** The program that a client starts. */
interface GatewayProgram {
  readonly command: string;
  readonly args: readonly string[];
}

/** The places of the user's files. */
export interface UserPlaces {
  readonly home: string;
  readonly environment: Environment;
  readonly platform: NodeJS.Platform;
}

/** A client whose configuration can name the gateway. */
export interface ClientConfiguration {
  /** The name of the client for users. */
  readonly title: string;
  /** The user's own configuration file. */
  readonly path: (places: UserPlaces) => string;
  /**
   * Returns the text of the file with the gateway, or without it if `program` is undefined. Throws a UsageError for a
   * text that cannot be changed safely.
   */
  readonly change: (text: string, program: GatewayProgram | undefined, path: string) => string;
}

const NAME = 'toolscript';

/** The clients by the name that the command takes. */
export const CLIENTS: Readonly<Record<string, ClientConfiguration>> = {
  'claude-code': {
    title: 'Claude Code',
    path: ({ home, environment }) => join(environment['CLAUDE_CONFIG_DIR'] ?? home, '.claude.json'),
    change: jsonChange('mcpServers', (program) => ({ type: 'stdio', ...program })),
  },
  codex: {
    title: 'Codex CLI',
    path: ({ home, environment }) => join(environment['CODEX_HOME'] ?? join(home, '.codex'), 'config.toml'),
    change: changeToml,
  },
  cursor: {
    title: 'Cursor',
    path: ({ home }) => join(home, '.cursor', 'mcp.json'),
    change: jsonChange('mcpServers', (program) => program),
  },
  gemini: {
    title: 'Gemini CLI',
    path: ({ home }) => join(home, '.gemini', 'settings.json'),
    change: jsonChange('mcpServers', (program) => program),
  },
  opencode: {
    title: 'opencode',
    path: ({ home, environment }) =>
      join(environment['XDG_CONFIG_HOME'] ?? join(home, '.config'), 'opencode', 'opencode.json'),
    change: jsonChange('mcp', ({ command, args }) => ({ type: 'local', command: [command, ...args], enabled: true })),
  },
  vscode: {
    title: 'VS Code',
    path: (places) => join(vsCodeFolder(places), 'Code', 'User', 'mcp.json'),
    change: jsonChange('servers', (program) => ({ type: 'stdio', ...program })),
  },
};

function vsCodeFolder({ home, environment, platform }: UserPlaces): string {
  if (platform === 'darwin') return join(home, 'Library', 'Application Support');
  if (platform === 'win32') return environment['APPDATA'] ?? join(home, 'AppData', 'Roaming');
  return environment['XDG_CONFIG_HOME'] ?? join(home, '.config');
}

/** Changes one entry of the object `member`, and keeps everything else in the file. */
function jsonChange(member: string, entry: (program: GatewayProgram) => object): ClientConfiguration['change'] {
  return (text, program, path) => {
    const own = program === undefined ? undefined : `"${NAME}": ${JSON.stringify(entry(program))}`;
    const byHand =
      own === undefined
        ? `remove "${NAME}" from its "${member}" yourself`
        : `add this to its "${member}" yourself: ${own}`;
    const whole = text.trim() === '' ? {} : parseKept(text, path, byHand);
    const servers = isRecord(whole) ? (whole[member] ?? {}) : undefined;
    if (!isRecord(whole) || !isRecord(servers))
      throw new UsageError(
        `${visibleLine(path)}: "${member}" is not an object. Correct the file, and run the command again.`,
      );
    const { [NAME]: _, ...others } = servers;
    if (program === undefined && !Object.hasOwn(servers, NAME)) return text;
    const changed = program === undefined ? others : { ...servers, [NAME]: entry(program) };
    const indent = /^[ \t]+(?=")/mu.exec(text)?.[0] ?? '  ';
    return `${JSON.stringify({ ...whole, [member]: changed }, undefined, indent)}\n`;
  };
}

/** Parses a file that is written again. Throws a UsageError for a text that would lose something. */
function parseKept(text: string, path: string, byHand: string): unknown {
  const refuse = (problem: string) =>
    new UsageError(`${visibleLine(path)} ${problem}, so it stays as it is; ${byHand}`);
  const json = text.replace(/^\uFEFF/u, '');
  let isRounded = false;
  const note = (_key: string, value: unknown) => {
    isRounded ||= typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
    return value;
  };
  try {
    const whole: unknown = JSON.parse(json, note);
    if (!isRounded) return whole;
  } catch (error) {
    throw refuse(`has comments, or is not JSON (line ${jsonErrorLine((error as Error).message, json)})`);
  }
  throw refuse('has an integer beyond 2^53, which would be rounded');
}

/** The table of the gateway in a TOML file, up to the next table. */
const TABLE = /(?:^|\n)\[mcp_servers\.toolscript(?:\.[^\]\n]+)?\][^\n]*(?:\n(?!\[)[^\n]*)*/gu;

function changeToml(text: string, program: GatewayProgram | undefined, path: string): string {
  // A TOML file may define a table once only.
  if (/^[ \t]*mcp_servers[ \t]*[.=]/mu.test(text))
    throw new UsageError(
      `${visibleLine(path)} names its servers in one line, which this command cannot change. Write [mcp_servers.NAME] tables, and run the command again.`,
    );
  const others = text.replaceAll(TABLE, '').trim();
  if (program === undefined) return others === text.trim() ? text : `${others}\n`;
  const { command, args } = program;
  const table = [
    '[mcp_servers.toolscript]',
    `command = ${JSON.stringify(command)}`,
    `args = [${args.map((arg) => JSON.stringify(arg)).join(', ')}]`,
    'startup_timeout_sec = 20',
    'tool_timeout_sec = 120',
  ].join('\n');
  return others === '' ? `${table}\n` : `${others}\n\n${table}\n`;
}
