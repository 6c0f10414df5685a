import type { Decision } from '@toolscript/core/protocol';
import { loadSettings } from '../configuration/settings.js';
import { EXIT } from '../exit-status.js';
import { openEngines } from '../harness/engines.js';
import { openHarness } from '../harness/open-harness.js';
import { findScript } from '../state/find-script.js';
import { inspectWhole, scriptOwner } from '../state/inspect.js';
import { openState, originFolder } from '../state/persistent-state.js';
import { ownCommand } from '../terminal/own-command.js';
import { openScreen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import { pendingOne } from './resume.js';

export interface DecideFlags {
  note?: string | undefined;
}

/**
 * Stores a decision about a suspended script and runs nothing. The program that waits for the decision, such as a
 * gateway, resumes the script. `approvals` names the approvals to decide; if it is empty, all pending ones are decided.
 */
export async function decideApprovals(
  id: string,
  approvals: readonly string[],
  verdict: 'approve' | 'deny',
  { note }: DecideFlags,
): Promise<number> {
  const screen = openScreen();
  const kept = openState(process.env);
  const script = await findScript(kept, id);
  const { scriptId, state } = script;
  if (state !== 'suspended')
    throw new UsageError(
      `${scriptId} waits for no decision: its state is ${state}. To list the scripts that wait: ${ownCommand()} approvals`,
    );
  const place = await originFolder(await kept.origins.of(scriptId));
  const settings = await loadSettings(place, process.env, screen.notice);
  const { harness } = await openHarness(settings, { kept, engines: openEngines() });
  try {
    const { pendingApprovals } = await inspectWhole(harness, scriptId, scriptOwner(script));
    const chosen =
      approvals.length === 0 ? pendingApprovals : approvals.map((name) => pendingOne(pendingApprovals, name));
    const decision: Decision = note === undefined ? verdict : { decision: verdict, note };
    const decided = await harness.decide(
      scriptId,
      Object.fromEntries(chosen.map(({ approvalId }) => [approvalId, decision])),
      scriptOwner(script),
    );
    if (!decided.ok) throw new UsageError(visibleLine(decided.error.message));
    for (const { approvalId, tool } of chosen)
      screen.line(`${verdict === 'approve' ? 'Approved' : 'Refused'}: ${visibleLine(tool)} (${approvalId})`);
    screen.line(nextStep(scriptId, verdict, decided.undecided));
    return EXIT.completed;
  } finally {
    await harness.close();
  }
}

function nextStep(scriptId: string, verdict: 'approve' | 'deny', undecided: readonly string[]): string {
  if (undecided.length > 0) return `Still pending: ${undecided.join(', ')}`;
  return `The program that waits for the decision resumes the script. If no program waits: ${ownCommand()} resume ${scriptId} --${verdict}`;
}
