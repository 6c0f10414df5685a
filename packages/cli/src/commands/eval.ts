import type { Outcome } from '@toolscript/core/protocol';
import type { Engines } from '../harness/engines.js';
import { readWhole, sourceFor } from '../input/source.js';
import { jsonText, visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import { silentView, type EventView } from '../view/answer-view.js';
import { userView, withScriptHarness, type ScriptFlags } from './script-command.js';

export interface EvalFlags extends ScriptFlags {
  code?: string | undefined;
}

/** Runs one script. */
export async function evalScript(file: string | undefined, flags: EvalFlags, engines: Engines): Promise<number> {
  if (flags.code !== undefined && file !== undefined)
    throw new UsageError('The script is given twice, as a file and with -e. Remove one of them.');
  const source = flags.code === undefined ? sourceFor(file, 'eval') : undefined;
  const reading = source === undefined ? Promise.resolve(flags.code ?? '') : readWhole(source);
  reading.catch(() => {});
  return withScriptHarness({
    flags,
    engines,
    source,
    command: 'eval',
    makeView: (screen, settings): EventView => (flags.json === true ? silentView : userView(screen, settings)),
    async act({ harness, settings, screen, signal, count, onEvent }) {
      const code = (await reading).replace(/^\uFEFF/u, '');
      if (code.trim() === '')
        throw new UsageError(`${visibleLine(source?.name ?? '--code')} is empty. Pass a script to run.`);
      const outcome = await harness.runScript(code, { context: { workingDirectory: settings.cwd }, signal, onEvent });
      if (flags.json === true) screen.write(`${jsonText(withValue(outcome))}\n`);
      else if (settings.mode === 'disabled')
        screen.notice('Scripts are disabled (mode disabled), so nothing ran. To run them: --mode enabled');
      count.takeOutcome(outcome);
      return count.status;
    },
  });
}

/** Replaces an undefined value with null, because JSON has no `undefined`. */
export function withValue(outcome: Outcome): Outcome {
  return outcome.status === 'completed' ? { ...outcome, value: outcome.value ?? null } : outcome;
}
