import { ToolCallError, type ApprovalCallback, type ApprovalRequest } from '@toolscript/core/protocol';
import type { Settings } from '../configuration/settings.js';

/** The tools that run programs in the OS sandbox. */
const IN_SANDBOX: ReadonlySet<string> = new Set(['exec', 'shell']);

/**
 * Refuses calls that cannot run on this machine, so that no user decides about them. `problemOf` checks the sandbox
 * once and returns why it does not work; undefined if it does.
 */
export function refusingUnable(
  ask: ApprovalCallback,
  { sandbox }: Settings['exec'],
  problemOf: () => Promise<string | undefined> = problemOfSandbox,
): ApprovalCallback {
  if (sandbox === 'off') return ask;
  let checking: Promise<string | undefined> | undefined;
  return async (request: ApprovalRequest) => {
    if (!IN_SANDBOX.has(request.tool)) return ask(request);
    const problem = await (checking ??= problemOf());
    if (problem === undefined) return ask(request);
    throw new ToolCallError('ApprovalDeniedError', `it cannot run here, so nobody was asked: ${problem}`);
  };
}

/** Undefined if the sandbox works. */
async function problemOfSandbox(): Promise<string | undefined> {
  const { checkExecSandbox } = await import('@toolscript/tools');
  const refusal = await checkExecSandbox();
  return refusal === undefined ? undefined : `${refusal.reason} ${refusal.fix}`;
}
