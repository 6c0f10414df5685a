import type { Engines } from '../harness/engines.js';
import { sourceFor } from '../input/source.js';
import { isUsageError } from '../usage-error.js';
import type { EventView } from '../view/answer-view.js';
import { JsonView } from '../view/json-view.js';
import { withScriptHarness, userView, type ScriptFlags } from './script-command.js';

/** Runs the scripts in a model's answer. */
export async function runAnswer(file: string | undefined, flags: ScriptFlags, engines: Engines): Promise<number> {
  const source = sourceFor(file, 'run');
  const text = source.open();
  // `text` is awaited below. If another error occurs before that, the rejection of `text` must not be unhandled.
  text.catch(() => {});
  return withScriptHarness({
    flags,
    engines,
    source,
    command: 'run',
    makeView: (screen, settings): EventView =>
      flags.json === true ? new JsonView(screen) : userView(screen, settings),
    async act({ harness, settings, screen, signal, count, onEvent }) {
      let failure: unknown;
      const answer = watchedText(await text, (error) => (failure = error));
      const events = harness.processText(answer, {
        context: { workingDirectory: settings.cwd },
        continueOnError: flags.continueOnError === true,
        signal,
        onEvent,
      });
      for await (const _event of events);
      if (isUsageError(failure)) throw failure;
      if (count.scripts === 0 && count.suspendedScript === undefined && !signal.aborted && settings.mode !== 'disabled')
        screen.notice(
          'The answer contains no script, so nothing ran. A script is between <tool-calls> and </tool-calls>.',
        );
      return count.status;
    },
  });
}

/**
 * The answer's text. If reading fails, `onFailure` receives the error, because the harness reports only that the text
 * failed.
 */
async function* watchedText(text: AsyncIterable<string>, onFailure: (error: unknown) => void): AsyncGenerator<string> {
  try {
    yield* text;
  } catch (error) {
    onFailure(error);
    throw error;
  }
}
