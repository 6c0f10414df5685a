import type { ScriptStatus, WaitingApproval } from '../protocol/index.js';

interface LastLine {
  t?: unknown;
  approvals?: readonly WaitingApproval[];
  status?: 'completed' | 'failed';
  code?: string;
  message?: string;
}

/** The status that the last line of a journal of version 1 implies: such journals store no status. */
export function statusOfVersion1(lines: readonly string[]): ScriptStatus {
  const { t, approvals = [], status = 'failed', code, message } = parsed(lines.at(-1));
  if (t === 'suspended') return { state: 'suspended', approvals };
  if (t !== 'ended') return { state: 'running' };
  const why = { ...(code === undefined ? {} : { code }), ...(message === undefined ? {} : { message }) };
  return { state: 'ended', ended: { status, ...why } };
}

function parsed(line = '{}'): LastLine {
  try {
    return (JSON.parse(line) as LastLine | null) ?? {};
  } catch {
    return {};
  }
}
