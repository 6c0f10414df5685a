import { resolve } from 'node:path';
import type { Harness } from '@toolscript/core';
import type { Outcome, StreamEvent } from '@toolscript/core/protocol';
import type { Approvals } from '../approvals/approvals.js';
import type { ValidateInput } from '../approvals/asker.js';
import type { WorkspaceRules } from '../approvals/workspace-rules.js';
import { loadSettings, type SettingFlags, type Settings } from '../configuration/settings.js';
import { EXIT } from '../exit-status.js';
import { openCliHarness } from '../harness/cli-harness.js';
import type { Engines } from '../harness/engines.js';
import type { TextSource } from '../input/source.js';
import { Interruption } from '../interruption.js';
import { pruneDaily, type Origin, type PersistentState } from '../state/persistent-state.js';
import { openScreen, type Screen } from '../terminal/screen.js';
import { isUsageError } from '../usage-error.js';
import { AnswerView, type EventView } from '../view/answer-view.js';
import { leftLines, showSuspendedScript } from '../view/suspension-report.js';

export interface ScriptFlags extends SettingFlags {
  continueOnError?: boolean | undefined;
  /** Whether each script of an answer can use the variables of the scripts before it. */
  oneProgram?: boolean | undefined;
  json?: boolean | undefined;
}

/** The objects that a command needs to run scripts. */
export interface ScriptStage {
  readonly harness: Harness;
  readonly settings: Settings;
  readonly screen: Screen;
  readonly signal: AbortSignal;
  readonly approvals: Approvals;
  readonly rules: WorkspaceRules;
  /** Returns why arguments are invalid for a tool; undefined if they are valid. */
  readonly validateInput: ValidateInput;
  /** Counts the scripts that end, as the events report them. */
  readonly count: ScriptCount;
  /** Receives every event as it is emitted. */
  readonly onEvent: (event: StreamEvent) => void;
}

export interface ScriptHarnessOptions<View extends EventView = EventView> {
  flags: ScriptFlags;
  engines: Engines;
  /** The source of the text, closed at the end; undefined if the text is in the command line. */
  source: TextSource | undefined;
  command: Origin['command'];
  makeView: (screen: Screen, settings: Settings) => View;
  /** Returns the exit status. */
  act: (stage: ScriptStage, view: View) => Promise<number>;
}

/** Opens a harness for a command that runs scripts, calls `act`, and closes everything that it has opened. */
export async function withScriptHarness<View extends EventView>(options: ScriptHarnessOptions<View>): Promise<number> {
  const screen = openScreen();
  try {
    const settings = await loadSettings(options.flags, process.env, screen.notice);
    return await withInterruption((interruption) => act(options, screen, settings, interruption));
  } finally {
    options.source?.close();
  }
}

async function withInterruption(run: (interruption: Interruption) => Promise<number>): Promise<number> {
  const interruption = new Interruption();
  try {
    const status = await run(interruption);
    return interruption.status ?? status;
  } catch (error) {
    // An interruption closes the input, so an error of the input is then not a mistake of the user.
    if (interruption.status !== undefined && isUsageError(error)) return interruption.status;
    throw error;
  } finally {
    interruption.dispose();
  }
}

async function act<View extends EventView>(
  options: ScriptHarnessOptions<View>,
  screen: Screen,
  settings: Settings,
  interruption: Interruption,
): Promise<number> {
  const { flags, engines, source, command } = options;
  const view = options.makeView(screen, settings);
  // An interruption closes the input, so that nothing waits for more text.
  interruption.signal.addEventListener('abort', () => source?.close(), { once: true });
  const workbench = await openCliHarness({
    settings,
    engines,
    screen,
    origin: { workspace: settings.cwd, command, options: repeatedOptions(flags) },
    ...(flags.oneProgram === true ? { scripts: 'one-program' as const } : {}),
    stdinIsTaken: source?.isStdin === true,
    stdoutIsTaken: flags.json === true,
    interrupt: () => interruption.interrupt(),
  });
  const { harness, approvals, rules, kept, validateInput } = workbench;
  const count = new ScriptCount();
  interruption.listen({
    suspend: () => approvals.suspend(),
    // A suspended run may still store later events, so its store stays open.
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
    const status = await options.act(whole, view).catch((error: unknown) => {
      // An interruption closes the input, so an error of the input is then not a mistake of the user.
      if (interruption.status !== undefined && isUsageError(error)) return interruption.status;
      throw error;
    });
    watch.rethrow();
    await reportUnfinishedScripts({ ...stage, kept, flags });
    if (interruption.status === undefined) await pruneDaily(kept);
    return status;
  } finally {
    view.end();
    await workbench.close();
  }
}

/** Shows the suspended and interrupted scripts, with the commands that resume them. */
async function reportUnfinishedScripts(
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
    showSuspendedScript({ scriptId: count.suspendedScript, details, options, style: screen.style, write });
  } else if (kept.store.isLeft) {
    for (const scriptId of kept.store.heldScripts)
      for (const line of leftLines(scriptId, repeatedOptions(flags), screen.style)) write(line);
  }
}

/** The options of a run that are not stored with its scripts. A command that resumes a script must repeat them. */
export function repeatedOptions(flags: ScriptFlags): string[] {
  const { execSandbox, pack, tools, mcpConfig, limit = [], approve, json } = flags;
  return [
    ...limit.flatMap((assignment) => ['--limit', assignment]),
    ...(approve === undefined ? [] : ['--then', approve]),
    ...(json === true ? ['--json'] : []),
    ...(mcpConfig === undefined ? [] : ['--mcp-config', resolve(mcpConfig)]),
    ...(execSandbox === undefined ? [] : [`--exec-sandbox`, execSandbox]),
    ...(pack === undefined ? [] : ['--pack', pack]),
    ...(tools === undefined ? [] : ['--tools', tools.join(',')]),
  ];
}

export function userView(screen: Screen, settings: Settings): AnswerView {
  return new AnswerView(screen, { isDryRun: settings.mode === 'dry-run' });
}

/**
 * Passes events to listeners. The harness ignores errors of listeners, so this class keeps the first error and rethrows
 * it at the end.
 */
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

/** Counts the scripts of a command, and derives the exit status from how they ended. */
class ScriptCount {
  /** The number of scripts with an output. */
  scripts = 0;
  /** The id of the suspended script; undefined until the script is stored. */
  suspendedScript: string | undefined;
  isSuspended = false;
  #hasFailed = false;

  take({ payload }: StreamEvent): void {
    if (payload.type === 'response_error') this.#hasFailed = true;
    if (payload.type === 'item_update') this.isSuspended = payload.changes['status'] === 'suspended';
    if (payload.type === 'response_done' && payload.script_id !== undefined) this.suspendedScript = payload.script_id;
    if (payload.type !== 'item_done' || payload.final_item.type !== 'script_execution_output') return;
    this.scripts += 1;
    if (payload.final_item.status === 'failed') this.#hasFailed = true;
  }

  /** Takes the outcome of a script that does not belong to an answer. */
  takeOutcome({ status, scriptId }: Outcome): void {
    if (status === 'failed') this.#hasFailed = true;
    if (status === 'suspended') this.suspendedScript ??= scriptId;
  }

  get status(): number {
    if (this.#hasFailed) return EXIT.failed;
    return this.suspendedScript === undefined && !this.isSuspended ? EXIT.completed : EXIT.suspended;
  }
}
