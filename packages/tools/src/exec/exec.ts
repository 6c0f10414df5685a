import { defineTool } from '@toolscript/core';
import type { Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { failure, failureMessage, failureReason, throwIfAborted } from '../failure.js';
import { openFolder, using } from '../files/open-verified.js';
import { quotePath, visible } from '../files/path-rules.js';
import { permissionPath } from '../files/permission-path.js';
import { displayPath, resolvePath, type Workspace } from '../files/workspace.js';
import { quoteCommand } from './command-line.js';
import { childEnvironment } from './environment.js';
import { commandPermissions } from './permissions.js';
import { ProcessGroups, runCommand, type Command } from './process-tree.js';
import { requireProgram } from './program.js';
import { Sandbox, type SandboxedCommand } from './sandbox/client.js';
import type { MovedEntry } from './sandbox/messages.js';
import { sandboxedDisk } from './sandbox/policy.js';
import { execLine } from './shell-words.js';

export interface ExecOptions {
  /** Time limit of calls that set none, in ms. Default 120 000. */
  readonly defaultTimeoutMs?: number;
  /** Maximum time limit of a call, in ms. Default 3 600 000. */
  readonly maxTimeoutMs?: number;
  /** Names of host variables that child processes get in addition to the usual ones. */
  readonly passEnvironment?: readonly string[];
  /**
   * 'on' (default): commands can write only to the workspace and /tmp, cannot read known secrets of the user and the
   * system, and can use the network only as `network` allows; if the sandbox is unavailable, the tool rejects commands.
   * 'off': commands have all rights of this process.
   */
  readonly sandbox?: 'on' | 'off';
  /** Host names that sandboxed commands may reach, such as 'registry.npmjs.org' or '*.example.com'. Default: none. */
  readonly network?: { readonly allow: readonly string[] };
}

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 3_600_000;
const DEFAULT_MAX_OUTPUT_BYTES = 256 * 1024;

export const ExecOutput = z.object({
  exitCode: z.number().int(),
  stdout: z.string(),
  stderr: z.string(),
  aggregatedOutput: z.string().describe('stdout and stderr, in order'),
  timedOut: z.boolean(),
  truncated: z.boolean().describe('the middle is left out'),
  durationMs: z.number().int(),
  quarantined: z
    .array(z.string())
    .optional()
    .describe('sentences about protected files that the command made or changed'),
});

export interface ExecInput {
  command: string[];
  cwd?: string | undefined;
  env?: Record<string, string> | undefined;
  timeoutMs?: number | undefined;
  approvalContext?: string | undefined;
}

type ExecResult = z.output<typeof ExecOutput>;

/** The context of a command; `ToolCallContext` satisfies it. */
interface ExecContext {
  readonly signal?: AbortSignal;
  readonly maxOutputBytes?: number;
  /** Receives the latest line of output, at most twice a second. */
  readonly progress?: (line: string) => void;
  /** Receives all output as it arrives. */
  readonly output?: ((text: string) => void) | undefined;
}

export type Exec = (input: ExecInput, context?: ExecContext) => Promise<ExecResult>;

export function execTool(workspace: Workspace, options: ExecOptions = {}, run = createExec(workspace, options)): Tool {
  return defineTool({
    name: 'exec',
    description:
      'Runs one program with arguments; no shell, no terminal, no input. A non-zero exitCode or timedOut is a result, not an error. ' +
      `For pipes or && use ['sh', '-c', '…']. ${limitsOf(options)}`,
    input: z.object({ command: z.array(z.string()).min(1).describe('program and arguments'), ...commonInput(options) }),
    output: ExecOutput,
    approval: 'always',
    effect: 'external',
    permissions: (input) => commandPermissions(workspace, input),
    preview: (input) => previewCommand(workspace, quoteCommand(input.command), input),
    execute: (input, { signal, maxOutputBytes, progress, output }) =>
      run(input, { signal, maxOutputBytes, progress, output }),
  });
}

/**
 * Returns a function that runs programs inside a workspace. The function's promise resolves for every exit status and
 * after a time-out. The promise rejects with a ToolCallError, for example if the program could not be started, the
 * sandbox is unavailable, or the call was aborted.
 */
export function createExec(workspace: Workspace, options: ExecOptions = {}): Exec {
  const groups = new ProcessGroups();
  const roots = workspace.roots.map(({ realPath }) => realPath);
  const sandbox =
    options.sandbox === 'off' ? undefined : new Sandbox({ roots, allowedHosts: options.network?.allow ?? [] });
  return async (input, { signal, maxOutputBytes = DEFAULT_MAX_OUTPUT_BYTES, progress, output } = {}) => {
    checkCommand(input.command);
    throwIfAborted(signal);
    const path = resolvePath(workspace, input.cwd ?? '.');
    return using(openFolder(workspace, path), (folder) => {
      const command: Command = {
        argv: input.command,
        cwd: folder.ownPath,
        env: { ...childEnvironment(process.env, input.env ?? {}, options.passEnvironment), PWD: folder.realPath },
        timeoutMs: Math.min(
          input.timeoutMs ?? options.defaultTimeoutMs ?? DEFAULT_TIMEOUT_MS,
          options.maxTimeoutMs ?? MAX_TIMEOUT_MS,
        ),
        maxOutputBytes,
        signal,
        progress,
        output,
      };
      if (sandbox === undefined) return runCommand(command, groups);
      return runSandboxed(sandbox, workspace, command, groups);
    });
  };
}

async function runSandboxed(
  sandbox: Sandbox,
  workspace: Workspace,
  command: Command,
  groups: ProcessGroups,
): Promise<ExecResult> {
  // defence: no-sandbox-in-a-pattern
  refusePatterns(workspace);
  const { argv, signal } = command;
  const environment = process.platform === 'linux' ? { ...command.env, TMPDIR: '/tmp' } : command.env;
  const program = requireProgram(argv[0]!, environment['PATH'] ?? '', environment['PWD']!);
  const line = execLine([program, ...argv.slice(1)], environment);
  const sandboxed = await sandbox.wrap(line, sandboxedDisk(workspace));
  return guarded(sandboxed, workspace, () => {
    throwIfAborted(signal);
    const { argv: started, environment: env, inputs } = sandboxed;
    return runCommand({ ...command, argv: started, env, inputs }, groups);
  });
}

/** Runs a command. The result or the error describes the protected files that the command made or changed. */
async function guarded(
  sandboxed: SandboxedCommand,
  workspace: Workspace,
  run: () => Promise<ExecResult>,
): Promise<ExecResult> {
  const [outcome] = await Promise.allSettled([(async () => run())()]);
  const quarantined = (await sandboxed.finish()).map((entry) => quarantineSentence(workspace, entry));
  if (quarantined.length === 0) return outcome.status === 'fulfilled' ? outcome.value : Promise.reject(outcome.reason);
  if (outcome.status === 'fulfilled') return { ...outcome.value, quarantined };
  const reason = failureReason(outcome.reason);
  if (reason === undefined) throw outcome.reason;
  throw failure(reason, [failureMessage(outcome.reason), ...quarantined].join(' '), { quarantined });
}

function quarantineSentence(workspace: Workspace, { path, movedTo, reason }: MovedEntry): string {
  const [name, place] = [path, movedTo].map((name) => quotePath(displayPath(workspace, name)));
  if (movedTo === '')
    return `The command made or changed ${name}, which is protected (${reason}) and could not be moved away. Remove it yourself.`;
  return `The command made or changed ${name}, which is protected: ${reason}. Toolscript moved it to ${place}.`;
}

/**
 * Rejects a root whose path contains pattern characters. The sandbox would treat the path as a pattern, and deny writes
 * to the root.
 */
function refusePatterns(workspace: Workspace): void {
  if (workspace.roots.some(({ realPath }) => /[*?[\]]/.test(realPath)))
    throw failure(
      'unavailable',
      'Commands cannot be sandboxed in a folder whose path contains *, ?, [ or ]. Rename the folder.',
    );
}

/** The arguments that exec and shell share. */
export function commonInput({
  defaultTimeoutMs = DEFAULT_TIMEOUT_MS,
  maxTimeoutMs = MAX_TIMEOUT_MS,
}: ExecOptions): CommonInput {
  return {
    cwd: z.string().optional(),
    env: z.record(z.string(), z.string()).optional().describe('variables to add'),
    timeoutMs: z.number().int().min(1).max(maxTimeoutMs).default(Math.min(defaultTimeoutMs, maxTimeoutMs)),
    approvalContext: z.string().optional().describe('the reason, for the user who approves'),
  };
}

interface CommonInput {
  cwd: z.ZodOptional<z.ZodString>;
  env: z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodString>>;
  timeoutMs: z.ZodDefault<z.ZodNumber>;
  approvalContext: z.ZodOptional<z.ZodString>;
}

/** Describes the sandbox to the model. */
export function limitsOf({ sandbox, network }: ExecOptions): string {
  if (sandbox === 'off') return '';
  const hosts = network?.allow ?? [];
  return `Sandboxed: writes only to the workspace and /tmp, ${hosts.length === 0 ? 'no network' : `network only to ${hosts.join(', ')}`}.`;
}

function checkCommand(command: readonly string[]): void {
  if (command.length === 0 || command[0] === '')
    throw failure('not_started', "The command names no program. Write ['PROGRAM', 'ARGUMENT'].");
  if (command.some((argument) => argument.includes('\0')))
    throw failure('not_started', 'An argument of the command contains a NUL byte. Remove it.');
}

/** A command in the form that a user sees before the approval decision. */
export function previewCommand(
  workspace: Workspace,
  command: string,
  { cwd, env, timeoutMs }: Omit<ExecInput, 'command'>,
): string {
  const lines = [command, `in ${visible(permissionPath(workspace, cwd ?? '.'))}`];
  for (const [name, value] of Object.entries(env ?? {})) lines.push(`with ${visible(name)}=${quoteCommand([value])}`);
  if (timeoutMs !== undefined) lines.push(`for at most ${timeoutMs} ms`);
  return lines.join('\n');
}
