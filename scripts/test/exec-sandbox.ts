import { checkExecSandbox } from '@toolscript/tools';

/**
 * The reason why commands cannot run in their sandbox here; undefined if they can. The one rule for tests that need it.
 */
export const blocked = await checkExecSandbox();

/** Tests that need the sandbox are skipped if it is missing, but not in continuous integration. */
export const hasExecSandbox = blocked === undefined;

if (blocked !== undefined) {
  if (process.env['CI'] !== undefined) throw new Error(`${blocked.reason} ${blocked.fix}`);
  console.log(`Skipped tests that run commands in the sandbox: ${blocked.reason} ${blocked.fix}`);
}
