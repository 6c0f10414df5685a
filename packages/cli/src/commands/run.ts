import type { StreamEvent } from '@toolscript/core/protocol';
import { EXIT } from '../exit-status.js';
import { sourceFor } from '../input/source.js';
import { isUsageError } from '../usage-error.js';
import { JsonView } from '../view/json-view.js';
import { onScriptStage, personView, type ScriptFlags } from './script-command.js';

/** Runs the scripts in a model's answer. */
export async function runAnswer(file: string | undefined, flags: ScriptFlags): Promise<number> {
  const source = sourceFor(file, 'run');
  const text = source.open();
  // It is awaited below; what goes wrong before that must not leave its failure unheard.
  text.catch(() => {});
  return onScriptStage({
    flags,
    source,
    makeView: (screen, settings) => (flags.json === true ? new JsonView(screen) : personView(screen, settings)),
    async act({ harness, settings, screen, signal, onEvent }) {
      const count = new ScriptCount();
      const answer = new WatchedText(await text);
      const events = harness.processText(answer, {
        context: { workingDirectory: settings.cwd },
        continueOnError: flags.continueOnError === true,
        signal,
        onEvent,
      });
      for await (const event of events) count.take(event);
      if (answer.failure !== undefined) throw answer.failure.error;
      if (count.scripts === 0 && !signal.aborted && settings.mode !== 'disabled') screen.warn('toolscript: There is no script in the answer; nothing was run.');
      return count.status;
    },
  });
}

/** Counts how scripts ended. */
class ScriptCount {
  scripts = 0;
  #failed = false;
  #suspended = false;

  take({ payload }: StreamEvent): void {
    if (payload.type === 'response_error') this.#failed = true;
    if (payload.type !== 'item_done' || payload.final_item.type !== 'script_execution_output') return;
    this.scripts += 1;
    if (payload.final_item.status === 'failed') this.#failed = true;
    if (payload.final_item.status === 'suspended') this.#suspended = true;
  }

  get status(): number {
    if (this.#failed) return EXIT.failed;
    return this.#suspended ? EXIT.suspended : EXIT.completed;
  }
}

/** The answer's text, which remembers why it broke off: the harness only tells that it did. */
class WatchedText implements AsyncIterable<string> {
  failure: { error: unknown } | undefined;
  readonly #text: AsyncIterable<string>;

  constructor(text: AsyncIterable<string>) {
    this.#text = text;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    try {
      yield* this.#text;
    } catch (error) {
      if (isUsageError(error)) this.failure = { error };
      throw error;
    }
  }
}
