import type { Harness } from '@toolscript/core';
import type { Tool } from '@toolscript/core/protocol';
import { openApprovals, type Approvals } from '../approvals/approvals.js';
import type { ValidateInput } from '../approvals/asker.js';
import type { TerminalOptions } from '../approvals/question-terminal.js';
import { RuleFolder } from '../approvals/rule-folder.js';
import { WorkspaceRules } from '../approvals/workspace-rules.js';
import { userFolder } from '../configuration/locations.js';
import type { Settings } from '../configuration/settings.js';
import { openAudit, openStateFor, type PersistentState } from '../state/persistent-state.js';
import type { Origin } from '../state/origin-folder.js';
import type { Screen } from '../terminal/screen.js';
import { visible, visibleLine } from '../terminal/untrusted.js';
import { fileCodeIn } from '../usage-error.js';
import type { Engines } from './engines.js';
import { openHarness } from './open-harness.js';

/** A harness of the settings, with who decides about its calls and where its scripts are kept. */
export interface CliHarness {
  readonly harness: Harness;
  readonly approvals: Approvals;
  readonly rules: WorkspaceRules;
  readonly kept: PersistentState;
  /** Why arguments do not fit a tool; undefined where they do. */
  readonly validateInput: ValidateInput;
  close(): Promise<void>;
}

export interface CliHarnessOptions extends TerminalOptions {
  settings: Settings;
  engines: Engines;
  screen: Screen;
  /** How its scripts are started. */
  origin: Origin;
  /** What Ctrl-C does while a question is open. */
  interrupt: () => void;
}

export async function openCliHarness(wishes: CliHarnessOptions): Promise<CliHarness> {
  const { settings, engines, screen, origin, stdinIsTaken, stdoutIsTaken, interrupt } = wishes;
  const rules = await workspaceRules(settings, screen);
  const kept = openStateFor(process.env, origin);
  const audit = openAudit(process.env);
  const known = new KnownTools();
  const approvals = openApprovals({
    approve: settings.approve,
    rules,
    screen,
    validateInput: known.validateInput,
    stdinIsTaken,
    stdoutIsTaken,
    interrupt,
  });
  const onInternalError = internalErrorReporter(kept, screen);
  const { harness, tools, suggestRule } = await openHarness(settings, {
    approvals: approvals.policy,
    onInternalError,
    kept,
    audit: audit.append,
    engines,
  });
  rules.know(tools, suggestRule);
  known.tools = tools;
  const close = async () => {
    approvals.close();
    await harness.close();
    audit.close();
  };
  return { harness, approvals, rules, kept, validateInput: known.validateInput, close };
}

/** Once for all that fails because the user's own data cannot be written. */
function internalErrorReporter({ store, folder }: PersistentState, screen: Screen): (detail: string) => void {
  let isReported = false;
  return (detail) => {
    if (store.isLeft) return;
    const code = fileCodeIn(detail.split('\n')[0] ?? '');
    if (code === undefined) return screen.warn(`toolscript: internal: ${visible(detail)}`);
    if (!isReported)
      screen.warn(
        `toolscript: Your own data in ${visibleLine(folder.path)} cannot be written (${code}). Make it a folder that you can write to, with room left, or set XDG_DATA_HOME to one.`,
      );
    isReported = true;
  };
}

/** Remembered rules are read only where they can count: `auto` and `deny` have nothing to ask. */
async function workspaceRules({ approve, cwd, rules }: Settings, screen: Screen): Promise<WorkspaceRules> {
  const folder = approve === 'ask' ? new RuleFolder(userFolder(process.env), cwd) : undefined;
  const remembered = await folder?.list((message) => screen.warn(`toolscript: ${message}`));
  return new WorkspaceRules(
    rules,
    (remembered ?? []).flatMap((one) => one.rules),
    folder,
  );
}

/** The tools, once there are any. */
class KnownTools {
  tools: readonly Tool[] = [];

  readonly validateInput = (name: string, input: unknown): string | undefined => {
    const tool = this.tools.find((one) => one.name === name);
    if (tool === undefined) return `there is no tool ${name} here`;
    const checked = tool.validateInput(input);
    if (checked.ok) return undefined;
    return checked.issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
  };
}
