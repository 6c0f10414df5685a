import type { StreamEvent } from '@toolscript/core/protocol';
import type { Harness } from '@toolscript/core';
import { openApprovals } from '../approvals/approvals.js';
import type { SettingFlags, Settings } from '../configuration/settings.js';
import { loadSettings } from '../configuration/settings.js';
import type { Engines } from '../harness/engines.js';
import { openHarness } from '../harness/open-harness.js';
import type { TextSource } from '../input/source.js';
import { Interruption } from '../interruption.js';
import { Screen } from '../terminal/screen.js';
import { visible } from '../terminal/untrusted.js';
import { isUsageError } from '../usage-error.js';
import { AnswerView, type EventView } from '../view/answer-view.js';

export interface ScriptFlags extends SettingFlags {
  continueOnError?: boolean;
  json?: boolean;
}

/** What a command that runs scripts has at hand. */
interface ScriptStage {
  readonly harness: Harness;
  readonly settings: Settings;
  readonly screen: Screen;
  readonly signal: AbortSignal;
  /** To be told every event, as it happens. */
  readonly onEvent: (event: StreamEvent) => void;
}

export interface StageWishes {
  flags: ScriptFlags;
  engines: Engines;
  /** Where the text comes from, if not from the command line; closed at the end. */
  source: TextSource | undefined;
  makeView: (screen: Screen, settings: Settings) => EventView;
  /** Answers with the exit status. */
  act: (stage: ScriptStage) => Promise<number>;
}

/** Sets up everything around scripts that run in a terminal, and leaves nothing of it behind. */
export async function onScriptStage(wishes: StageWishes): Promise<number> {
  const screen = new Screen(process.stdout, process.stderr, process.env);
  try {
    const settings = await loadSettings(wishes.flags, process.env, (message) => screen.warn(`toolscript: ${message}`));
    return await withInterruption((interruption) => act(wishes, screen, settings, interruption));
  } finally {
    wishes.source?.close();
  }
}

async function withInterruption(run: (interruption: Interruption) => Promise<number>): Promise<number> {
  const interruption = new Interruption();
  try {
    const status = await run(interruption);
    return interruption.status ?? status;
  } catch (error) {
    // Input that was broken off on purpose is no mistake of the person.
    if (interruption.status !== undefined && isUsageError(error)) return interruption.status;
    throw error;
  } finally {
    interruption.dispose();
  }
}

async function act(
  { flags, engines, source, makeView, act: perform }: StageWishes,
  screen: Screen,
  settings: Settings,
  interruption: Interruption,
): Promise<number> {
  const view = makeView(screen, settings);
  // Whoever interrupts does not wait for input any more.
  interruption.signal.addEventListener('abort', () => source?.close(), { once: true });
  const approvals = openApprovals({
    approve: settings.approve,
    screen,
    stdinIsTaken: source?.isStdin === true,
    stdoutIsTaken: flags.json === true,
    interrupt: () => interruption.interrupt(),
  });
  const onInternalError = (detail: string) => screen.warn(`toolscript: internal: ${visible(detail)}`);
  const { harness } = await openHarness(settings, { approvals: approvals.policy, onInternalError, engines });
  try {
    const watch = new EventWatch([(event) => approvals.take(event), (event) => view.take(event)]);
    const status = await perform({ harness, settings, screen, signal: interruption.signal, onEvent: watch.take });
    watch.rethrow();
    return status;
  } finally {
    approvals.close();
    view.end();
    await harness.close();
  }
}

export function personView(screen: Screen, settings: Settings): EventView {
  return new AnswerView(screen, { isDryRun: settings.mode === 'dry-run' });
}

/** The library protects a run from listeners that throw; here such a fault must not pass in silence. */
class EventWatch {
  readonly #listeners: readonly ((event: StreamEvent) => void)[];
  #fault: { error: unknown } | undefined;

  constructor(listeners: readonly ((event: StreamEvent) => void)[]) {
    this.#listeners = listeners;
  }

  readonly take = (event: StreamEvent): void => {
    try {
      for (const listener of this.#listeners) listener(event);
    } catch (error) {
      this.#fault ??= { error };
    }
  };

  rethrow(): void {
    if (this.#fault !== undefined) throw this.#fault.error;
  }
}
