import type { Harness, KeptScript } from '@toolscript/core';
import type { Outcome } from '@toolscript/core/protocol';
import { loadSettings } from '../configuration/settings.js';
import { EXIT } from '../exit-status.js';
import type { Engines } from '../harness/engines.js';
import { openHarness } from '../harness/open-harness.js';
import { findScript } from '../state/find-script.js';
import { scriptOwner } from '../state/inspect.js';
import { openState, originFolder } from '../state/persistent-state.js';
import { openScreen } from '../terminal/screen.js';
import { jsonText } from '../terminal/untrusted.js';
import { AnswerView } from '../view/answer-view.js';
import { leftLines, showSuspendedScript } from '../view/suspension-report.js';
import { withValue } from './eval.js';

interface AwaitedFlags {
  json?: boolean | undefined;
}

type Ask = (harness: Harness, scriptId: string, owner: ReturnType<typeof scriptOwner>) => Promise<Outcome>;

/** Waits for the end of a stored script, whichever process runs it. */
export function waitForScript(id: string, flags: AwaitedFlags, engines: Engines): Promise<number> {
  return showEnd(id, flags, engines, (harness, scriptId, owner) => harness.waitScript(scriptId, owner));
}

/** Cancels a stored script, whichever process runs it. A script that has ended stays as it is. */
export function cancelScript(id: string, flags: AwaitedFlags, engines: Engines): Promise<number> {
  return showEnd(id, flags, engines, (harness, scriptId, owner) => harness.cancelScript(scriptId, owner));
}

async function showEnd(id: string, { json = false }: AwaitedFlags, engines: Engines, ask: Ask): Promise<number> {
  const screen = openScreen();
  const kept = openState(process.env);
  const script: KeptScript = await findScript(kept, id);
  const { scriptId } = script;
  const settings = await loadSettings(await originFolder(await kept.origins.of(scriptId)), process.env, screen.notice);
  const { harness } = await openHarness(settings, { kept, engines });
  const view = new AnswerView(screen, { isDryRun: false });
  try {
    const outcome = await ask(harness, scriptId, scriptOwner(script));
    const { style } = screen;
    const write = (line: string) => screen.line(line);
    if (json) screen.write(`${jsonText(withValue(outcome))}\n`);
    else if (outcome.status === 'suspended')
      showSuspendedScript({ scriptId, details: outcome, options: [], style, write });
    else if (outcome.error?.code === 'ScriptInterruptedError') leftLines(scriptId, [], style).forEach(write);
    else view.showOutcome(outcome);
    if (outcome.status === 'suspended') return EXIT.suspended;
    return outcome.status === 'failed' ? EXIT.failed : EXIT.completed;
  } finally {
    view.end();
    await harness.close();
  }
}
