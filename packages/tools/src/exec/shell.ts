import { defineTool } from '@toolscript/core';
import type { Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { visible } from '../files/path-rules.js';
import type { Workspace } from '../files/workspace.js';
import { commonInput, createExec, ExecOutput, sandboxDescription, previewCommand, type ExecOptions } from './exec.js';
import { shellPermissions } from './permissions.js';

/**
 * The tool that runs one line through `/bin/sh`, in the sandbox of exec. Rules for command prefixes never approve a
 * line.
 */
export function shellTool(workspace: Workspace, options: ExecOptions = {}, run = createExec(workspace, options)): Tool {
  return defineTool({
    name: 'shell',
    description:
      'Runs one command line through /bin/sh; no terminal, no input. A non-zero exitCode or timedOut is a result, not an error. ' +
      `Prefer exec where no pipe, && or redirection is needed. ${sandboxDescription(options)}`,
    input: z.object({ command: z.string().min(1).describe('a command line'), ...commonInput(options) }),
    output: ExecOutput,
    approval: 'always',
    effect: 'external',
    permissions: ({ command }) => shellPermissions(command),
    preview: (input) => previewCommand(workspace, `/bin/sh -c: ${visible(input.command)}`, input),
    execute: ({ command, ...input }, context) => run({ ...input, command: ['/bin/sh', '-c', command] }, context),
  });
}
