import type { Outcome } from '@toolscript/core/protocol';
import type { Engines } from '../harness/engines.js';
import { readWhole, sourceFor } from '../input/source.js';
import { jsonText, visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import type { EventView } from '../view/answer-view.js';
import { withScriptHarness, personView, type ScriptFlags } from './script-command.js';

export interface EvalFlags extends ScriptFlags {
  code?: string;
}

/** Runs one script. */
export async function evalScript(file: string | undefined, flags: EvalFlags, engines: Engines): Promise<number> {
  if (flags.code !== undefined && file !== undefined)
    throw new UsageError('Give the script once: either a FILE or -e CODE.');
  const source = flags.code === undefined ? sourceFor(file, 'eval') : undefined;
  const reading = source === undefined ? Promise.resolve(flags.code ?? '') : readWhole(source);
  reading.catch(() => {});
  return withScriptHarness({
    flags,
    engines,
    source,
    command: 'eval',
    makeView: (screen, settings): EventView => (flags.json === true ? silentView : personView(screen, settings)),
    async act({ harness, settings, screen, signal, count, onEvent }) {
      const code = (await reading).replace(/^\uFEFF/u, '');
      if (code.trim() === '')
        throw new UsageError(
          `${source === undefined ? 'The code of -e' : visibleLine(source.name)} is empty. Give it a script to run.`,
        );
      const outcome = await harness.runScript(code, { context: { workingDirectory: settings.cwd }, signal, onEvent });
      if (flags.json === true) screen.write(`${jsonText(withValue(outcome))}\n`);
      else if (settings.mode === 'disabled')
        screen.warn('toolscript: Scripts are switched off (mode disabled); nothing was run.');
      count.takeOutcome(outcome);
      return count.status;
    },
  });
}

export const silentView: EventView = { take: () => {}, end: () => {} };

/** JSON has no `undefined`; a script that returned nothing has the value null there. */
export function withValue(outcome: Outcome): Outcome {
  return outcome.status === 'completed' ? { ...outcome, value: outcome.value ?? null } : outcome;
}
