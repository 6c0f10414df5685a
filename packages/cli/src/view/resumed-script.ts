import type { KeptScriptDetails } from '@toolscript/core';
import type { Screen } from '../terminal/screen.js';
import { AnswerView, type EventView } from './answer-view.js';
import { resumedBanner } from './script-report.js';

/** Announces that a script resumes, and shows the completed calls of an interrupted script. */
export function showResumedScript(
  screen: Screen,
  view: EventView,
  { scriptId, operations, state }: Pick<KeptScriptDetails, 'scriptId' | 'operations' | 'state'>,
): void {
  if (!(view instanceof AnswerView) || (state !== 'suspended' && state !== 'interrupted')) return;
  screen.line(resumedBanner(scriptId, screen.style));
  if (state === 'interrupted') return view.showCalls(operations);
  // These calls were shown before the script was suspended.
  view.knowCalls(operations.filter(({ status }) => status !== 'awaiting_approval').map(({ callId }) => callId));
}
