import { defineTool } from '@toolscript/core';
import { ToolCallError, type Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { failureMessage, failureReason, isIncomplete } from '../failure.js';
import { changeCause, changeFiles, commitChanges, type ChangeCause } from '../files/commit.js';
import { visible } from '../files/path-rules.js';
import { permissionPath } from '../files/permission-path.js';
import { createWorkspace, type RootOption, type Workspace } from '../files/workspace.js';
import { parsePatch, pathsInPatch, readPatch } from './parse.js';
import { PatchPlanner, type PatchChange } from './planner.js';
import { PATCH_EXAMPLE } from './unwrap.js';
import { SUCCESS } from '../success.js';

const ApplyPatchInput = z.object({
  patch: z.string(),
  cwd: z.string().optional(),
  atomic: z.boolean().default(true).describe('all or nothing'),
  dryRun: z.boolean().default(false),
});

const ApplyPatchOutput = z.object({
  success: SUCCESS,
  changes: z.array(
    z.object({
      path: z.string(),
      kind: z.enum(['add', 'delete', 'update']),
      movedTo: z.string().optional(),
      added: z.number().int(),
      removed: z.number().int(),
    }),
  ),
  summary: z.string(),
  stdout: z.string().meta({ deprecated: true }),
  stderr: z.string().meta({ deprecated: true }),
});

export type ApplyPatchInput = z.input<typeof ApplyPatchInput>;
export type ApplyPatchResult = z.output<typeof ApplyPatchOutput>;

export interface ApplyPatchOptions {
  /** The folders that the patch may change. Relative paths start at the first one. */
  readonly root: RootOption | readonly RootOption[];
  /** Default true: a failure prevents all writes. False: writes file by file, up to the failure. */
  readonly atomic?: boolean | undefined;
  /** True: checks and reports the changes, and writes nothing. Default false. */
  readonly dryRun?: boolean | undefined;
  /** The folder inside a root at which relative paths start. */
  readonly cwd?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Applies a patch, in the Codex format or as a unified diff, to files below a folder. Throws a ToolCallError that names
 * the file, the hunk and the nearest lines. With `atomic: false`, the error's `data.changes` lists the completed
 * changes.
 */
export async function applyPatch(patch: string, options: ApplyPatchOptions): Promise<ApplyPatchResult> {
  const { root, signal, ...input } = options;
  return applyPatchIn(createWorkspace({ roots: root }), { patch, ...input }, { signal });
}

export function applyPatchTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'applyPatch',
    description:
      'Adds, updates, moves and deletes files by a patch; nothing is written unless all of it fits. Give a few unchanged lines around each change.\n' +
      `${PATCH_EXAMPLE}\n` +
      "Also '*** Add File: path' (lines begin with +), '*** Delete File: path', '*** Move to: path' after an Update line, '@@ line further up' to say where. Unified diffs work too.",
    input: ApplyPatchInput,
    output: ApplyPatchOutput,
    approval: 'policy',
    effect: 'write',
    permissions: (input) => touchedPaths(workspace, input).map((path) => `write:${path}`),
    preview: (input) => previewPatch(workspace, input),
    execute: (input, context) => applyPatchIn(workspace, input, changeCause(context)),
  });
}

/** Applies a patch inside a workspace. A workspace applies one patch at a time. */
export function applyPatchIn(
  workspace: Workspace,
  input: ApplyPatchInput,
  cause: ChangeCause = {},
): Promise<ApplyPatchResult> {
  const { patch, cwd, atomic, dryRun } = ApplyPatchInput.parse(input);
  return atomic || dryRun
    ? applyWhole(workspace, patch, cwd, dryRun, cause)
    : applyOneByOne(workspace, patch, cwd, cause);
}

async function applyWhole(
  workspace: Workspace,
  patch: string,
  workdir: string | undefined,
  dryRun: boolean,
  cause: ChangeCause,
): Promise<ApplyPatchResult> {
  const { signal } = cause;
  try {
    const { operations, notes, cwd } = await readPatch(patch, workdir, signal);
    const findPlaces = (): Promise<string[]> => new PatchPlanner(workspace, cwd, signal).checkPaths(operations);
    const plan = async (): Promise<PatchPlanner> => {
      const planner = new PatchPlanner(workspace, cwd, signal);
      await planner.plan(operations);
      return planner;
    };
    if (dryRun) {
      await findPlaces();
      return report((await plan()).changes, notes, true);
    }
    const planner = await changeFiles(workspace, cause, findPlaces, () => planAndCommit(workspace, plan, cause));
    return report(planner.changes, notes, false);
  } catch (error) {
    throw withNote(error, 'Nothing was changed.', []);
  }
}

async function applyOneByOne(
  workspace: Workspace,
  patch: string,
  workdir: string | undefined,
  cause: ChangeCause,
): Promise<ApplyPatchResult> {
  const { signal } = cause;
  const done: PatchChange[] = [];
  try {
    const { operations, notes, cwd } = await readPatch(patch, workdir, signal);
    const findPlaces = (): Promise<string[]> => new PatchPlanner(workspace, cwd, signal).checkPaths(operations);
    await changeFiles(workspace, cause, findPlaces, async () => {
      for (const operation of operations) {
        const plan = async (): Promise<PatchPlanner> => {
          const planner = new PatchPlanner(workspace, cwd, signal);
          await planner.plan([operation]);
          return planner;
        };
        done.push(...(await planAndCommit(workspace, plan, cause)).changes);
      }
    });
    return report(done, notes, false);
  } catch (error) {
    throw withNote(
      error,
      done.length === 0
        ? 'Nothing was changed.'
        : `The patch had already changed these files: ${done.map(({ path }) => path).join(', ')}.`,
      done,
    );
  }
}

/**
 * Maximum number of attempts at a patch. The tool recomputes the patch if another program has meanwhile changed a file
 * that the patch changes.
 */
const MAX_ATTEMPTS = 5;

async function planAndCommit(
  workspace: Workspace,
  plan: () => Promise<PatchPlanner>,
  cause: ChangeCause,
): Promise<PatchPlanner> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const planner = await plan();
      await commitChanges(workspace, planner.fileChanges(), cause);
      return planner;
    } catch (error) {
      // defence: patch-recompute
      if (failureReason(error) !== 'changed' || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

function withNote(error: unknown, note: string, changes: readonly PatchChange[]): unknown {
  if (!(error instanceof ToolCallError)) return error;
  if (isIncomplete(error)) return error;
  return new ToolCallError(error.code, `${error.message}${error.message.includes('\n') ? '\n' : ' '}${note}`, {
    ...(error.data as object | undefined),
    changes,
  });
}

function report(changes: PatchChange[], notes: readonly string[], dryRun: boolean): ApplyPatchResult {
  const letters = { add: 'A', delete: 'D', update: 'M' } as const;
  const listed = changes.map(({ kind, path, movedTo }) => `${letters[kind]} ${visible(movedTo ?? path)}`);
  return {
    success: true,
    changes,
    summary: changes.map(describe).join('\n'),
    stdout: `${dryRun ? 'Dry run: nothing was written. The patch would update' : 'Success. Updated'} the following files:\n${listed.join('\n')}\n`,
    stderr: notes.map((note) => `${visible(note)}\n`).join(''),
  };
}

function describe({ kind, path, movedTo, added, removed }: PatchChange): string {
  const verb = { add: 'Added', delete: 'Deleted', update: 'Updated' }[kind];
  const moved = movedTo === undefined ? '' : ` and moved it to ${visible(movedTo)}`;
  return `${verb} ${visible(path)}${moved} (+${added} -${removed})`;
}

/**
 * The preview for the user who decides: a summary for each file, then the patch's own lines. If the patch would fail,
 * the reason replaces the summaries.
 */
async function previewPatch(workspace: Workspace, input: { patch: string; cwd?: string | undefined }): Promise<string> {
  try {
    const { operations, cwd } = await readPatch(input.patch, input.cwd);
    const planner = new PatchPlanner(workspace, cwd, undefined);
    await planner.checkPaths(operations);
    await planner.plan(operations);
    const lines = planner.changes.map(
      ({ kind, path, movedTo, added, removed }) =>
        `${kind} ${path}${movedTo === undefined ? '' : ` -> ${movedTo}`} (+${added} -${removed})`,
    );
    return `${lines.join('\n')}\n\n${input.patch}`;
  } catch (error) {
    return `This patch would fail: ${failureMessage(error)}\n\n${input.patch}`;
  }
}

function touchedPaths(workspace: Workspace, input: { patch: string; cwd?: string | undefined }): string[] {
  try {
    const parsed = parsePatch(input.patch, input.cwd);
    return [...new Set(pathsInPatch(parsed).map((path) => permissionPath(workspace, path, parsed.cwd)))];
  } catch {
    return ['(unreadable patch)'];
  }
}
