import type { AskedAbout } from '../approvals/asked-about.js';
import type { Decisions, KeptScriptDetails } from '@toolscript/core';
import type { AgentConfig } from '@toolscript/core/agent';
import type { ApprovalRequest, Decision, Outcome, Remember } from '@toolscript/core/protocol';
import type { FinalAnswerFlags } from '../chat/final-answer.js';
import { resumeChat, withThread } from '../chat/resume-chat.js';
import { demandEnabledMode } from '../chat/waiting.js';
import type { WorkspaceRules } from '../approvals/workspace-rules.js';
import type { Approve } from '../configuration/settings.js';
import { realFolder } from '../configuration/workspace-folder.js';
import type { Engines } from '../harness/engines.js';
import { findScript, theOne } from '../state/find-script.js';
import { openState, type Origin } from '../state/persistent-state.js';
import { inspectWhole } from '../state/inspect.js';
import { ownCommand, shellWord } from '../terminal/own-command.js';
import { jsonText, visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import { AnswerView, silentView, type EventView } from '../view/answer-view.js';
import { JsonView } from '../view/json-view.js';
import { showResumedScript } from '../view/resumed-script.js';
import { withValue } from './eval.js';
import { userView, withScriptHarness, type ScriptFlags, type ScriptStage } from './script-command.js';

export interface ResumeFlags
  extends Omit<ScriptFlags, 'approve' | 'mode' | 'continueOnError'>, Omit<FinalAnswerFlags, 'json'> {
  /** True approves all pending approvals that `deny` does not name. */
  approve?: true | string[] | undefined;
  deny?: true | string[] | undefined;
  note?: string | undefined;
  input?: string | undefined;
  remember?: Remember | undefined;
  /** Claims the script even if another process may still run it. */
  force?: boolean | undefined;
  /** The approval mode for further calls. */
  then?: Approve | undefined;
  /** The model that replaces the conversation's own model. */
  model?: string | undefined;
  /** The effort that replaces the agent's own setting. */
  effort?: AgentConfig['reasoningEffort'];
}

/** Decides the pending approvals of a suspended script and resumes it, or recovers an interrupted script. */
export async function resumeScript(id: string, flags: ResumeFlags, engines: Engines): Promise<number> {
  checkFlags(flags);
  const kept = openState(process.env);
  const { scriptId, state } = await findScript(kept, id);
  const origin = await kept.origins.of(scriptId);
  const cwd = await originWorkspace(scriptId, origin, flags.cwd);
  const { approve: _approve, then, force: _force, ...settings } = flags;
  if (origin?.thread !== undefined) {
    const chatFlags = { ...settings, cwd, thread: origin.thread, ...(then === undefined ? {} : { approve: then }) };
    const force = flags.force === true;
    const decide = (asked: AskedAbout) => decisionsFor(asked, flags);
    const status = await withThread(origin.thread, (database) =>
      resumeChat({ database, scriptId, flags: chatFlags, engines, force, decide }),
    );
    // If the conversation was deleted, the script resumes without it.
    if (status !== undefined) return status;
  }
  if (flags.print !== undefined || flags.outputSchema !== undefined || flags.output !== undefined)
    throw new UsageError(
      `${scriptId} belongs to no conversation, so no final answer follows. Omit --print, --output-schema and --output.`,
    );
  const isJson = flags.json === true || flags.outputFormat === 'json';
  const printsOutcome = isJson && (origin?.command !== 'run' || state === 'interrupted');
  return withScriptHarness<EventView>({
    flags: { ...settings, json: isJson, cwd, ...(then === undefined ? {} : { approve: then }) },
    engines,
    source: undefined,
    command: origin?.command ?? 'run',
    makeView: (screen, own) => {
      if (!isJson) return userView(screen, own);
      return printsOutcome ? silentView : new JsonView(screen);
    },
    async act(stage, view) {
      demandEnabledMode(stage.settings);
      const details = await inspectWhole(stage.harness, scriptId);
      const outcome = await decideAndResume(stage, view, details, flags);
      if (outcome === undefined) return stage.count.status;
      if (printsOutcome) stage.screen.write(`${jsonText(withValue(outcome))}\n`);
      return finish(stage, view, outcome);
    },
  });
}

function finish({ screen, count }: ScriptStage, view: EventView, outcome: Outcome): number {
  count.takeOutcome(outcome);
  if (outcome.status === 'failed' && outcome.error.code === 'SuspensionError' && outcome.metadata.runtime === 'none')
    screen.notice(visibleLine(outcome.error.message));
  else if (count.scripts === 0 && outcome.status !== 'suspended' && view instanceof AnswerView)
    view.showOutcome(outcome);
  return count.status;
}

/** Returns undefined if nothing was decided or a signal arrived; the script is then still suspended. */
async function decideAndResume(
  stage: ScriptStage,
  view: EventView,
  details: KeptScriptDetails,
  flags: ResumeFlags,
): Promise<Outcome | undefined> {
  const { harness, signal, onEvent, count } = stage;
  const { scriptId, suspension } = details;
  const decisions = await decisionsFor({ ...stage, details }, flags);
  if (suspension === undefined) {
    showResumedScript(stage.screen, view, details);
    return harness.recover(scriptId, { signal, onEvent, force: flags.force === true });
  }
  if (Object.keys(decisions).length === 0) {
    count.suspendedScript = scriptId;
    return undefined;
  }
  if (signal.aborted) return undefined;
  showResumedScript(stage.screen, view, details);
  return harness.resume(suspension, decisions, { signal, onEvent });
}

/** The decisions of the command line, or those of the user at the terminal. Empty for an interrupted script. */
async function decisionsFor(asked: AskedAbout, flags: ResumeFlags): Promise<Decisions> {
  const { scriptId, state, suspension, pendingApprovals } = asked.details;
  const decides = flags.approve !== undefined || flags.deny !== undefined;
  if (suspension !== undefined)
    return decides ? givenDecisions(asked, pendingApprovals, flags) : askedDecisions(asked, asked.details);
  if (decides && state === 'interrupted')
    throw new UsageError(
      `${scriptId} waits for no decision: it was interrupted. To recover it: ${ownCommand()} resume ${scriptId}`,
    );
  return {};
}

/** The decisions of the command line. */
async function givenDecisions(
  { validateInput, rules }: Pick<AskedAbout, 'validateInput' | 'rules'>,
  pending: readonly ApprovalRequest[],
  { approve, deny, note, input, remember }: ResumeFlags,
): Promise<Decisions> {
  const named = (names: true | string[] | undefined) =>
    Array.isArray(names) ? names.map((name) => pendingOne(pending, name)) : [];
  const [approved, denied] = [named(approve), named(deny)];
  const both = approved.find((request) => denied.includes(request));
  if (both !== undefined)
    throw new UsageError(`${both.approvalId} is both approved and denied. Name it in only one of the options.`);
  if (approve === true) approved.push(...pending.filter((request) => !denied.includes(request)));
  if (deny === true) denied.push(...pending.filter((request) => !approved.includes(request)));
  const more = { ...(note === undefined ? {} : { note }), ...(remember === undefined ? {} : { remember }) };
  const edited = input === undefined ? {} : { input: editedInput(approved, input, validateInput) };
  if (remember === 'workspace') await rememberForWorkspace(rules, approved, denied);
  const decisions: Record<string, Decision> = {};
  for (const { approvalId } of approved) decisions[approvalId] = { decision: 'approve', ...more, ...edited };
  for (const { approvalId } of denied) decisions[approvalId] = { decision: 'deny', ...more };
  return decisions;
}

/**
 * Stores rules for the approved calls. Throws a UsageError, before any decision, if a call is denied, if no rule is
 * possible for a call, or if a rule cannot be stored.
 */
async function rememberForWorkspace(
  rules: WorkspaceRules,
  approved: readonly ApprovalRequest[],
  denied: readonly ApprovalRequest[],
): Promise<void> {
  if (denied.length > 0)
    throw new UsageError('--remember workspace saves only approvals. Use --deny in a separate command.');
  const suggestions = approved.map((request) => {
    const [suggestion] = rules.suggest(request);
    if (suggestion !== undefined) return suggestion;
    throw new UsageError(
      `--remember workspace: no rule can describe the call to ${visibleLine(request.tool)}, or your own rules decide about it. Omit --remember.`,
    );
  });
  for (const suggestion of suggestions) await rules.remember(suggestion);
}

/** The pending approval whose id is `name`, or the only one whose id begins with it. Throws a UsageError otherwise. */
export function pendingOne(pending: readonly ApprovalRequest[], name: string): ApprovalRequest {
  return theOne(pending, name, ({ approvalId }) => approvalId, {
    prefix: 'apr_',
    none: `No approval ${visibleLine(name)} is pending. Pending: ${pending.map(pendingText).join(', ')}.`,
    several: 'Several pending approvals begin with',
  });
}

function editedInput(
  approved: readonly ApprovalRequest[],
  text: string,
  validateInput: ScriptStage['validateInput'],
): unknown {
  const [request, another] = approved;
  if (request === undefined || another !== undefined)
    throw new UsageError(
      '--input replaces the arguments of one call, so exactly one approval must be named: --approve apr_…',
    );
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch (error) {
    throw new UsageError(
      `--input is not JSON: ${visibleLine((error as Error).message)}. Write an object with the arguments, quoted for your shell.`,
    );
  }
  const why = validateInput(request.tool, input);
  if (why !== undefined)
    throw new UsageError(
      `--input does not fit ${visibleLine(request.tool)}: ${visibleLine(why)}. ${ownCommand()} tools --types shows its arguments.`,
    );
  return input;
}

/** The user's decisions at the terminal. */
async function askedDecisions(
  { approvals, harness, signal }: Pick<AskedAbout, 'approvals' | 'harness' | 'signal'>,
  { scriptId, pendingApprovals }: KeptScriptDetails,
): Promise<Decisions> {
  const asker = approvals.asker();
  if (asker === undefined)
    throw new UsageError(
      `${scriptId} waits for ${pendingApprovals.map(pendingText).join(', ')}. Add --approve or --deny; to look first: ${ownCommand()} approvals show ${scriptId}`,
    );
  // The worker threads start while the user reads.
  harness.warm().catch(() => {});
  const decisions = await asker.askAll(pendingApprovals);
  return signal.aborted ? {} : decisions;
}

function pendingText({ approvalId, tool, line }: ApprovalRequest): string {
  return `${approvalId} (${visibleLine(tool)}${line === undefined ? '' : `, line ${line}`})`;
}

function checkFlags({ approve, deny, note, input, remember }: ResumeFlags): void {
  if (approve === true && deny === true)
    throw new UsageError(
      '--approve and --deny cannot both cover all pending approvals. Name the approvals of one of them: --approve apr_… --deny',
    );
  const decides = approve !== undefined || deny !== undefined;
  if (!decides && (note !== undefined || input !== undefined || remember !== undefined))
    throw new UsageError('--note, --input and --remember belong to a decision. Add --approve or --deny.');
  if (input !== undefined && approve === undefined)
    throw new UsageError('--input replaces the arguments of a call that is approved. Add --approve.');
}

/** The workspace in which the script was started. The script resumes only in this workspace. */
async function originWorkspace(
  scriptId: string,
  origin: Origin | undefined,
  requested: string | undefined,
): Promise<string> {
  if (origin === undefined) {
    if (requested !== undefined) return realFolder(requested);
    throw new UsageError(`The folder in which ${scriptId} was started is unknown. Add it with --cwd.`);
  }
  if (requested !== undefined && (await realFolder(requested)) !== origin.workspace)
    throw new UsageError(
      `${scriptId} was started in ${visibleLine(origin.workspace)} and can be resumed only there. Omit --cwd, or write --cwd ${shellWord(origin.workspace)}.`,
    );
  return realFolder(origin.workspace);
}
