import { defineTool } from '@toolscript/core';
import type { Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { failure, throwIfAborted } from '../failure.js';
import { openFolder, using } from '../files/open-verified.js';
import { visible } from '../files/path-rules.js';
import { permissionPath } from '../files/permission-path.js';
import { resolvePath, type Workspace } from '../files/workspace.js';
import { quoteCommand } from './command-line.js';
import { childEnvironment } from './environment.js';
import { ProcessGroups, runCommand } from './process-tree.js';

export interface ExecOptions {
  /** For calls that name no time limit. Default 120 000. */
  readonly defaultTimeoutMs?: number;
  /** The longest that a call may ask for. Default 3 600 000. */
  readonly maxTimeoutMs?: number;
  /** Names of the host's environment that children get beside the usual ones. */
  readonly passEnvironment?: readonly string[];
}

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 3_600_000;
const DEFAULT_MAX_OUTPUT_BYTES = 256 * 1024;

const ExecOutput = z.object({
  exitCode: z.number().int().describe('128 + number where a signal ended it'),
  stdout: z.string(),
  stderr: z.string(),
  aggregatedOutput: z.string().describe('stdout and stderr in order of arrival'),
  timedOut: z.boolean(),
  truncated: z.boolean().describe('the middle of long output is left out'),
  durationMs: z.number().int(),
});

export interface ExecInput {
  command: string[];
  cwd?: string | undefined;
  env?: Record<string, string> | undefined;
  timeoutMs?: number | undefined;
  approvalContext?: string | undefined;
}

export type ExecResult = z.output<typeof ExecOutput>;

/** What a command is run with; `ToolCallContext` has it all. */
export interface ExecContext {
  readonly signal?: AbortSignal;
  readonly maxOutputBytes?: number;
}

export function execTool(workspace: Workspace, options: ExecOptions = {}): Tool {
  const run = createExec(workspace, options);
  return defineTool({
    name: 'exec',
    description:
      'Runs one program with arguments; no shell, no terminal, no input. A non-zero exitCode or timedOut is a result, not an error. ' +
      "For pipes or && use ['sh', '-c', '…'].",
    input: execInput(options),
    output: ExecOutput,
    approval: 'always',
    effect: 'external',
    permissions: (input) => [`exec:${quoteCommand(input.command)}`],
    preview: (input) => previewCommand(workspace, input),
    execute: (input, { signal, maxOutputBytes }) => run(input, { signal, maxOutputBytes }),
  });
}

/**
 * Runs programs inside a workspace. The start folder is confined; what the program itself does is not. The
 * promise resolves for every exit status and for a time-out; it rejects with a ToolCallError when the program
 * could not be started or the call was aborted.
 */
export function createExec(
  workspace: Workspace,
  options: ExecOptions = {},
): (input: ExecInput, context?: ExecContext) => Promise<ExecResult> {
  const groups = new ProcessGroups();
  return async (input, { signal, maxOutputBytes = DEFAULT_MAX_OUTPUT_BYTES } = {}) => {
    checkCommand(input.command);
    throwIfAborted(signal);
    const path = resolvePath(workspace, input.cwd ?? '.');
    return using(openFolder(workspace, path), (folder) =>
      runCommand(
        {
          argv: input.command,
          cwd: folder.ownPath,
          env: { ...childEnvironment(process.env, input.env ?? {}, options.passEnvironment), PWD: folder.realPath },
          timeoutMs: Math.min(
            input.timeoutMs ?? options.defaultTimeoutMs ?? DEFAULT_TIMEOUT_MS,
            options.maxTimeoutMs ?? MAX_TIMEOUT_MS,
          ),
          maxOutputBytes,
          signal,
        },
        groups,
      ),
    );
  };
}

function execInput({ defaultTimeoutMs = DEFAULT_TIMEOUT_MS, maxTimeoutMs = MAX_TIMEOUT_MS }: ExecOptions) {
  return z.object({
    command: z.array(z.string()).min(1).describe('program and arguments'),
    cwd: z.string().optional().describe('start folder inside the workspace'),
    env: z.record(z.string(), z.string()).optional().describe('environment variables to add'),
    timeoutMs: z.number().int().min(1).max(maxTimeoutMs).default(Math.min(defaultTimeoutMs, maxTimeoutMs)),
    approvalContext: z.string().optional().describe('why, for the person who approves'),
  });
}

function checkCommand(command: readonly string[]): void {
  if (command.length === 0 || command[0] === '') throw failure('not_started', 'The command names no program.');
  if (command.some((argument) => argument.includes('\0')))
    throw failure('not_started', 'An argument of the command holds a NUL byte.');
}

function previewCommand(workspace: Workspace, { command, cwd, env, timeoutMs }: ExecInput): string {
  const lines = [quoteCommand(command), `in ${visible(permissionPath(workspace, cwd ?? '.'))}`];
  for (const [name, value] of Object.entries(env ?? {})) lines.push(`with ${visible(name)}=${quoteCommand([value])}`);
  if (timeoutMs !== undefined) lines.push(`for at most ${timeoutMs} ms`);
  return lines.join('\n');
}
