import type { StreamEvent } from '@toolscript/core/protocol';
import type { Harness } from '@toolscript/core';
import type { Approvals } from '../approvals/approvals.js';
import type { ValidateInput } from '../approvals/asker.js';
import type { WorkspaceRules } from '../approvals/workspace-rules.js';
import type { SettingFlags, Settings } from '../configuration/settings.js';
import { loadSettings } from '../configuration/settings.js';
import type { Engines } from '../harness/engines.js';
import { openCliHarness } from '../harness/cli-harness.js';
import type { TextSource } from '../input/source.js';
import { Interruption } from '../interruption.js';
import { pruneDaily } from '../state/daily-prune.js';
import type { PersistentState } from '../state/persistent-state.js';
import type { Origin } from '../state/origin-folder.js';
import { Screen } from '../terminal/screen.js';
import { isUsageError } from '../usage-error.js';
import { AnswerView, type EventView } from '../view/answer-view.js';
import { leftLines, showSuspended } from '../view/suspension-report.js';
import { ScriptCount } from './script-count.js';

export interface ScriptFlags extends SettingFlags {
  continueOnError?: boolean;
  json?: boolean;
}

/** What a command that runs scripts has at hand. */
export interface ScriptStage {
  readonly harness: Harness;
  readonly settings: Settings;
  readonly screen: Screen;
  readonly signal: AbortSignal;
  readonly approvals: Approvals;
  readonly rules: WorkspaceRules;
  /** Why arguments do not fit a tool; undefined where they do. */
  readonly validateInput: ValidateInput;
  /** How the scripts ended, as the events told. */
  readonly count: ScriptCount;
  /** To be told every event, as it happens. */
  readonly onEvent: (event: StreamEvent) => void;
}

export interface ScriptHarnessOptions<View extends EventView = EventView> {
  flags: ScriptFlags;
  engines: Engines;
  /** Where the text comes from, if not from the command line; closed at the end. */
  source: TextSource | undefined;
  command: Origin['command'];
  makeView: (screen: Screen, settings: Settings) => View;
  /** Answers with the exit status. */
  act: (stage: ScriptStage, view: View) => Promise<number>;
}

/** Sets up everything around scripts that run in a terminal, and leaves nothing of it behind. */
export async function withScriptHarness<View extends EventView>(wishes: ScriptHarnessOptions<View>): Promise<number> {
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

async function act<View extends EventView>(
  wishes: ScriptHarnessOptions<View>,
  screen: Screen,
  settings: Settings,
  interruption: Interruption,
): Promise<number> {
  const { flags, engines, source, command } = wishes;
  const view = wishes.makeView(screen, settings);
  // Whoever interrupts does not wait for input any more.
  interruption.signal.addEventListener('abort', () => source?.close(), { once: true });
  const workbench = await openCliHarness({
    settings,
    engines,
    screen,
    origin: { workspace: settings.cwd, command, options: repeatedOptions(flags) },
    stdinIsTaken: source?.isStdin === true,
    stdoutIsTaken: flags.json === true,
    interrupt: () => interruption.interrupt(),
  });
  const { harness, approvals, rules, kept, validateInput } = workbench;
  const count = new ScriptCount();
  interruption.listen({
    putAside: () => approvals.putAside(),
    // What has been put aside already may still be told what comes after it.
    beforeAbort: () => void (count.isSuspended || kept.store.leave()),
  });
  const takers = [
    (event: StreamEvent) => count.take(event),
    (event: StreamEvent) => approvals.take(event),
    (event: StreamEvent) => view.take(event),
  ];
  const watch = new EventWatch(takers);
  const stage = { harness, settings, screen, signal: interruption.signal, approvals, rules, count };
  try {
    const whole = { ...stage, validateInput, onEvent: watch.take };
    const status = await wishes.act(whole, view).catch((error: unknown) => {
      // Input that was broken off on purpose is no mistake of the person.
      if (interruption.status !== undefined && isUsageError(error)) return interruption.status;
      throw error;
    });
    watch.rethrow();
    await tellWhatIsLeft({ ...stage, kept, flags });
    if (interruption.status === undefined) await pruneDaily(kept);
    return status;
  } finally {
    view.end();
    await workbench.close();
  }
}

/** What waits, and what was cut off in the middle, with the commands that go on with it. */
async function tellWhatIsLeft(
  about: Pick<ScriptStage, 'harness' | 'screen' | 'approvals' | 'count'> & {
    kept: PersistentState;
    flags: ScriptFlags;
  },
): Promise<void> {
  const { harness, screen, approvals, kept, count, flags } = about;
  const write = flags.json === true ? (line: string) => screen.warn(line) : (line: string) => screen.line(line);
  if (count.suspendedScript !== undefined) {
    const options = repeatedOptions(flags);
    const isKnown = flags.json === true || approvals.hasAsked;
    const details = isKnown ? undefined : await harness.inspect(count.suspendedScript);
    showSuspended({ scriptId: count.suspendedScript, details, options, style: screen.style, write });
  } else if (kept.store.isLeft) {
    for (const scriptId of kept.store.held)
      for (const line of leftLines(scriptId, repeatedOptions(flags), screen.style)) write(line);
  }
}

/** What changes the tools that a script has, and is not kept with it. */
export function repeatedOptions({ execSandbox, pack, tools }: SettingFlags): string[] {
  return [
    ...(execSandbox === undefined ? [] : [`--exec-sandbox`, execSandbox]),
    ...(pack === undefined ? [] : ['--pack', pack]),
    ...(tools === undefined ? [] : ['--tools', tools.join(',')]),
  ];
}

export function personView(screen: Screen, settings: Settings): AnswerView {
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
