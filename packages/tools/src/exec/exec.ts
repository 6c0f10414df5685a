import { defineTool } from '@toolscript/core';
import type { Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { failure, throwIfAborted } from '../failure.js';
import { changeCause } from '../files/commit.js';
import { openFolder, using } from '../files/open-verified.js';
import { visible } from '../files/path-rules.js';
import { permissionPath } from '../files/permission-path.js';
import { resolvePath, type Workspace } from '../files/workspace.js';
import { Checkpoints } from './checkpoint/checkpoints.js';
import { quoteCommand } from './command-line.js';
import { childEnvironment } from './environment.js';
import { reportedOutcome, uncheckedWorkspace } from './command-report.js';
import { commandPermissions } from './permissions.js';
import { ProcessGroups, runCommand, type Command } from './process-tree.js';
import { requireProgram } from './program.js';
import { Sandbox } from './sandbox/client.js';
import { sandboxedDisk } from './sandbox/policy.js';
import { execLine } from './shell-words.js';

export interface ExecOptions {
  /** Time limit of calls that set none, in ms. Default 120 000. */
  readonly defaultTimeoutMs?: number | undefined;
  /** Maximum time limit of a call, in ms. Default 3 600 000. */
  readonly maxTimeoutMs?: number | undefined;
  /** Names of host variables that child processes get in addition to the usual ones. */
  readonly passEnvironment?: readonly string[] | undefined;
  /**
   * 'on' (default): commands can write only to the workspace and /tmp, cannot read known secrets of the user and the
   * system, and can use the network only as `network` allows; if the sandbox is unavailable, the tool rejects commands.
   * 'off': commands have all rights of this process.
   */
  readonly sandbox?: 'on' | 'off' | undefined;
  /** Host names that sandboxed commands may reach, such as 'registry.npmjs.org' or '*.example.com'. Default: none. */
  readonly network?: { readonly allow: readonly string[] } | undefined;
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
interface ExecContext extends Partial<Parameters<typeof changeCause>[0]> {
  readonly maxOutputBytes?: number | undefined;
  /** Receives the latest line of output, at most twice a second. */
  readonly progress?: ((line: string) => void) | undefined;
  /** Receives all output as it arrives. */
  readonly output?: ((text: string) => void) | undefined;
}

export type Exec = (input: ExecInput, context?: ExecContext) => Promise<ExecResult>;

export function execTool(workspace: Workspace, options: ExecOptions = {}, run = createExec(workspace, options)): Tool {
  return defineTool({
    name: 'exec',
    description:
      'Runs one program with arguments; no shell, no terminal, no input. A non-zero exitCode or timedOut is a result, not an error. ' +
      `For pipes or && use ['sh', '-c', '…']. ${sandboxDescription(options)}`,
    input: z.object({ command: z.array(z.string()).min(1).describe('program and arguments'), ...commonInput(options) }),
    output: ExecOutput,
    approval: 'always',
    effect: 'external',
    permissions: (input) => commandPermissions(workspace, input),
    preview: (input) => previewCommand(workspace, quoteCommand(input.command), input),
    execute: run,
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
  const checkpoints = new Checkpoints(workspace);
  return async (input, context = {}) => {
    const { signal, maxOutputBytes = DEFAULT_MAX_OUTPUT_BYTES, progress, output } = context;
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
      return checkpoints.during(changeCause(context), () =>
        sandbox === undefined ? runCommand(command, groups) : runInSandbox(sandbox, workspace, command, groups),
      );
    });
  };
}

async function runInSandbox(
  sandbox: Sandbox,
  workspace: Workspace,
  command: Command,
  groups: ProcessGroups,
): Promise<ExecResult> {
  refuseRoots(workspace);
  const { argv, signal } = command;
  const environment = process.platform === 'linux' ? { ...command.env, TMPDIR: '/tmp' } : command.env;
  const program = requireProgram(argv[0]!, environment['PATH'] ?? '', environment['PWD']!);
  const line = execLine([program, ...argv.slice(1)], environment);
  const sandboxed = await sandbox.wrap(line, sandboxedDisk(workspace));
  if ('unchecked' in sandboxed) throw uncheckedWorkspace(workspace, sandboxed);
  const { argv: started, environment: env, inputs, withheld, finish } = sandboxed;
  const [outcome] = await Promise.allSettled([
    (async () => {
      throwIfAborted(signal);
      return runCommand({ ...command, argv: started, env, inputs, withheld }, groups);
    })(),
  ]);
  return reportedOutcome(workspace, outcome, await finish());
}

/**
 * Rejects a root that the sandbox would not show, or would take for a pattern: it has its own `/dev` and `/proc` on
 * Linux, where a command would run in another folder without a word.
 */
function refuseRoots({ roots }: Workspace): void {
  // defence: no-sandbox-in-a-pattern
  if (roots.some(({ realPath }) => /[*?[\]]/.test(realPath)))
    throw failure(
      'unavailable',
      'Commands cannot be sandboxed in a folder whose path contains *, ?, [ or ]. Rename the folder.',
    );
  // defence: no-sandbox-in-a-replaced-folder
  if (process.platform === 'linux' && roots.some(({ realPath }) => /^\/(?:dev|proc)\//.test(`${realPath}/`)))
    throw failure(
      'unavailable',
      'Commands cannot be sandboxed in a folder inside of /dev or /proc, because the sandbox has its own. Move the folder.',
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
export function sandboxDescription({ sandbox, network }: ExecOptions): string {
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
