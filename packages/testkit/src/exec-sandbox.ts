import { checkExecSandbox } from '@toolscript/tools';

/**
 * The reason why commands cannot run in their sandbox here; undefined if they can. The one rule for tests that need it.
 */
export const sandboxProblem = await checkExecSandbox();

/** Tests that need the sandbox are skipped if it is missing, but not in continuous integration. */
export const hasExecSandbox = sandboxProblem === undefined;

if (sandboxProblem !== undefined) {
  if (process.env['CI'] !== undefined) throw new Error(`${sandboxProblem.reason} ${sandboxProblem.fix}`);
  console.log(`Skipped tests that run commands in the sandbox: ${sandboxProblem.reason} ${sandboxProblem.fix}`);
}
