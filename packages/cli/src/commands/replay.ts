import { loadSettings } from '../configuration/settings.js';
import { EXIT } from '../exit-status.js';
import type { Engines } from '../harness/engines.js';
import { openHarness } from '../harness/open-harness.js';
import { findScript } from '../state/find-script.js';
import { inspectStoredScript } from '../state/inspect.js';
import { openState, originFolder } from '../state/persistent-state.js';
import { openScreen } from '../terminal/screen.js';
import { jsonText } from '../terminal/untrusted.js';
import { AnswerView } from '../view/answer-view.js';
import { replayBanner } from '../view/script-report.js';
import { withValue } from './eval.js';

/** Replays a stored script. Calls no tool and changes nothing. */
export async function replayScript(
  id: string,
  { json = false }: { json?: boolean | undefined },
  engines: Engines,
): Promise<number> {
  const screen = openScreen();
  const kept = openState(process.env);
  const { scriptId, state } = await findScript(kept, id);
  const settings = await loadSettings(await originFolder(await kept.origins.of(scriptId)), process.env, screen.notice);
  const { harness } = await openHarness(settings, { kept, engines });
  const view = new AnswerView(screen, { isDryRun: false });
  try {
    await inspectStoredScript(harness, scriptId);
    if (!json) screen.line(replayBanner(scriptId, screen.style));
    const outcome = await harness.replay(scriptId);
    const isCut = outcome.status === 'failed' && outcome.error.code === 'ScriptCancelledError';
    const reachesEnd = !isCut || state === 'ended';
    if (!json) view.showLogs(outcome.logs);
    if (json) screen.write(`${jsonText({ ...withValue(outcome), tape: reachesEnd ? 'complete' : 'ends' })}\n`);
    else if (reachesEnd) view.showOutcome(outcome);
    else
      screen.line(
        `${screen.style.yellow('⏸')} the replay ends here; ${state === 'suspended' ? 'the script waits for a decision' : 'the script was interrupted'}`,
      );
    return outcome.status === 'failed' && reachesEnd ? EXIT.failed : EXIT.completed;
  } finally {
    view.end();
    await harness.close();
  }
}
