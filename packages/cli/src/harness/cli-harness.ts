import type { Harness } from '@toolscript/core';
import type { AgentConfig } from '@toolscript/core/agent';
import { MAX_TIMER_MS } from '@toolscript/core/internal';
import type { Tool } from '@toolscript/core/protocol';
import type { McpServers } from '@toolscript/mcp';
import { openApprovals, type Approvals, type ApprovalsOptions } from '../approvals/approvals.js';
import type { ValidateInput } from '../approvals/asker.js';
import type { TerminalOptions } from '../approvals/question-terminal.js';
import { RuleFolder, WorkspaceRules } from '../approvals/workspace-rules.js';
import { userFolder } from '../configuration/locations.js';
import type { Settings } from '../configuration/settings.js';
import { openAudit, openStateFor, type Origin, type PersistentState } from '../state/persistent-state.js';
import type { Screen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { fileCodeIn, internalNotice } from '../usage-error.js';
import type { Engines } from './engines.js';
import type { Cabinet } from './exposure.js';
import { openHarnessWithServers } from './open-harness.js';

/** A harness for the settings, with its approvals and its store. */
export interface CliHarness {
  readonly harness: Harness;
  /** The MCP servers, which `close` closes; undefined if there are none. */
  readonly servers: McpServers | undefined;
  readonly approvals: Approvals;
  readonly rules: WorkspaceRules;
  readonly kept: PersistentState;
  /** Returns why arguments are invalid for a tool; undefined if they are valid. */
  readonly validateInput: ValidateInput;
  close(): Promise<void>;
}

export interface CliHarnessOptions extends TerminalOptions {
  settings: Settings;
  engines: Engines;
  screen: Screen;
  /** The origin of the harness's scripts. */
  origin: Origin;
  /** The stored texts of the conversation; undefined if the scripts belong to no conversation. */
  cabinet?: Cabinet | undefined;
  scripts?: AgentConfig['scripts'];
  /** Called on Ctrl-C while a question is open. */
  interrupt: () => void;
  askElsewhere?: ApprovalsOptions['askElsewhere'];
  /** Tools that are exposed in addition to those that the settings name. */
  more?: readonly Tool[] | undefined;
}

export async function openCliHarness(options: CliHarnessOptions): Promise<CliHarness> {
  const {
    settings,
    engines,
    screen,
    origin,
    stdinIsTaken,
    stdoutIsTaken,
    interrupt,
    askElsewhere,
    cabinet,
    scripts,
    more,
  } = options;
  const rules = await workspaceRules(settings, screen);
  const kept = openStateFor(process.env, origin);
  // The first entry opens the audit log, because most runs have nothing to audit.
  let audit: ReturnType<typeof openAudit> | undefined;
  const known = new KnownTools();
  const approvals = openApprovals({
    approve: settings.approve,
    exec: settings.exec,
    notify: settings.notify,
    suspendAfterMs: settings.limits.approvalTimeoutMs,
    rules,
    screen,
    validateInput: known.validateInput,
    stdinIsTaken,
    stdoutIsTaken,
    interrupt,
    askElsewhere,
  });
  const onInternalError = internalErrorReporter(kept, screen);
  const warn = screen.notice;
  // The harness gets no time limit for questions, because the asker suspends a question after `approvalTimeoutMs`.
  const limits = { ...settings.limits, approvalTimeoutMs: MAX_TIMER_MS };
  const { harness, servers, tools, suggestRules } = await openHarnessWithServers(
    { ...settings, limits },
    {
      approvals: approvals.policy,
      onInternalError,
      kept,
      audit: (entry) => (audit ??= openAudit(process.env)).append(entry),
      engines,
      cabinet,
      scripts,
      more,
      warn,
      onElicitation: approvals.askForm,
    },
  );
  rules.know(tools, suggestRules);
  known.tools = tools;
  const close = async () => {
    approvals.close();
    await harness.close();
    await servers?.close();
    audit?.close();
  };
  return { harness, servers, approvals, rules, kept, validateInput: known.validateInput, close };
}

/** Reports internal errors. Reports the failure to write the user's own data only once. */
function internalErrorReporter({ store, folder }: PersistentState, screen: Screen): (detail: string) => void {
  let isReported = false;
  return (detail) => {
    if (store.isLeft) return;
    const code = fileCodeIn(detail.split('\n')[0] ?? '');
    if (code === undefined) return screen.notice(internalNotice(detail));
    if (!isReported)
      screen.notice(
        `Your own data in ${visibleLine(folder.path)} cannot be written (${code}). Give your user write permission and free disk space, or set XDG_DATA_HOME to another folder.`,
      );
    isReported = true;
  };
}

/** The rules of the workspace. Reads the stored rules only for `ask`, because `auto` and `deny` do not use them. */
async function workspaceRules({ approve, cwd, rules }: Settings, screen: Screen): Promise<WorkspaceRules> {
  const folder = approve === 'ask' ? new RuleFolder(userFolder(process.env), cwd) : undefined;
  const remembered = await folder?.list(screen.notice);
  return new WorkspaceRules(
    rules,
    (remembered ?? []).flatMap((one) => one.rules),
    folder,
  );
}

/** The tools of the harness; empty until the harness is open. */
class KnownTools {
  tools: () => readonly Tool[] = () => [];

  readonly validateInput = (name: string, input: unknown): string | undefined => {
    const tool = this.tools().find((one) => one.name === name);
    if (tool === undefined) return `there is no tool ${name}`;
    const checked = tool.validateInput(input);
    if (checked.ok) return undefined;
    return checked.issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
  };
}
