import {
  ToolCallError,
  type ApprovalCallback,
  type ApprovalPolicy,
  type ApprovalRequest,
  type ApprovalRule,
  type StreamEvent,
} from '@toolscript/core/protocol';
import type { ElicitationAnswer, InboundHandlers } from '@toolscript/mcp';
import type { Approve, Settings } from '../configuration/settings.js';
import { hasTerminal, type Screen } from '../terminal/screen.js';
import { Asker, type UserAnswer, type ValidateInput } from './asker.js';
import { PermissionMode } from './permission-mode.js';
import { openQuestionTerminal, type TerminalOptions } from './question-terminal.js';
import { askForm } from './server-form.js';
import type { RememberedRule, WorkspaceRules } from './workspace-rules.js';

/** The approval policy of one run, and the state of its questions. */
export interface Approvals {
  readonly policy: ApprovalPolicy;
  /** The mode, which has no effect if the policy never asks. */
  readonly mode: PermissionMode;
  /** The asker at the terminal; undefined if there is no terminal. */
  asker(): Asker | undefined;
  /** Asks the user the question of an MCP server; undefined if there is no terminal. */
  readonly askForm: AskForm | undefined;
  /** True after a terminal was opened for questions. The user then needs no list of the pending calls. */
  readonly hasAsked: boolean;
  take(event: StreamEvent): void;
  /** Suspends the open questions. Returns true if there were any, or if an earlier suspension has not ended. */
  suspend(): boolean;
  /** Ends the suspension: the asker asks the user about later calls again. */
  reopen(): void;
  close(): void;
}

type AskForm = NonNullable<InboundHandlers['onElicitation']>;

export interface ApprovalsOptions extends TerminalOptions {
  approve: Approve;
  exec: Settings['exec'];
  notify: Settings['notify'];
  /** The time in ms after which an unanswered question is suspended. Undefined: the question waits without a limit. */
  suspendAfterMs: number | undefined;
  rules: WorkspaceRules;
  screen: Screen;
  validateInput: ValidateInput;
  /** Called on Ctrl-C while a question is open. */
  interrupt: () => void;
  /** Asks the user somewhere else, such as in an editor. Default: at the terminal. */
  askElsewhere?: ((request: ApprovalRequest) => Promise<UserAnswer>) | undefined;
}

/** Without a terminal, `ask` suspends every call that no rule approves or denies. */
export function openApprovals(options: ApprovalsOptions): Approvals {
  const { approve, rules, askElsewhere } = options;
  const mode = new PermissionMode();
  if (approve === 'auto') mode.current = 'auto';
  let opened: { asker: Asker | undefined } | undefined;
  const openAsker = (): Asker | undefined => {
    if (askElsewhere !== undefined) return undefined;
    const terminal = openQuestionTerminal(options);
    return terminal === undefined ? undefined : new Asker(terminal, { ...options, mode });
  };
  const asker = () => (opened ??= { asker: openAsker() }).asker;
  const ask: ApprovalCallback = (request) => {
    const decided = mode.answer(request);
    if (decided !== undefined) return decided;
    const found = asker();
    if (found !== undefined) return found.ask(request);
    if (rules.allows(request)) return 'approve';
    return askElsewhere?.(request) ?? 'suspend';
  };
  return {
    policy:
      approve === 'deny'
        ? withoutAsking(approve, rules.rules)
        : modePolicy(mode, rules, refusingUnable(ask, options.exec)),
    mode,
    asker,
    askForm: askElsewhere === undefined && hasTerminal() ? formAsker(asker, options) : undefined,
    get hasAsked() {
      return opened?.asker !== undefined;
    },
    take: (event) => opened?.asker?.take(event),
    suspend: () => opened?.asker?.suspend() === true,
    reopen: () => opened?.asker?.reopen(),
    close: () => opened?.asker?.close(),
  };
}

/** Each script reads the rules when it starts. */
function modePolicy(mode: PermissionMode, rules: WorkspaceRules, ask: ApprovalCallback): ApprovalPolicy {
  return {
    get rules() {
      return mode.rules(rules.rules);
    },
    ask,
  };
}

function formAsker(asker: Approvals['asker'], { screen, interrupt }: ApprovalsOptions): AskForm {
  const cancelled: ElicitationAnswer = { action: 'cancel' };
  return async (request, signal) => {
    const form = { style: screen.warningStyle, environment: process.env, interrupt, signal };
    return (await asker()?.lend((terminal) => askForm(terminal, request, form), cancelled)) ?? cancelled;
  };
}

/** A policy that never asks. The user's `deny` rules stay in force; `auto` approves calls that `ask` rules match. */
export function withoutAsking(approve: 'auto' | 'deny', rules: readonly ApprovalRule[]): ApprovalPolicy {
  if (!rules.some(({ action }) => action === 'deny')) return approve;
  if (approve === 'deny') return [...rules.filter(({ action }) => action === 'deny'), { action: 'deny' }];
  return [
    ...rules.map((rule): ApprovalRule => (rule.action === 'ask' ? { ...rule, action: 'approve' } : rule)),
    { action: 'approve' },
  ];
}

/** The tools that run programs in the OS sandbox. */
const IN_SANDBOX: ReadonlySet<string> = new Set(['exec', 'shell']);

/**
 * Refuses calls that cannot run on this machine, so that no user decides about them. `problemOf` is called at most
 * once; it returns why the sandbox does not work, or undefined if the sandbox works.
 */
export function refusingUnable(
  ask: ApprovalCallback,
  { sandbox }: Settings['exec'],
  problemOf: () => Promise<string | undefined> = problemOfSandbox,
): ApprovalCallback {
  if (sandbox === 'off') return ask;
  let checking: Promise<string | undefined> | undefined;
  return async (request: ApprovalRequest) => {
    if (!IN_SANDBOX.has(request.tool)) return ask(request);
    const problem = await (checking ??= problemOf());
    if (problem === undefined) return ask(request);
    throw new ToolCallError('ApprovalDeniedError', `it cannot run here, so nobody was asked: ${problem}`);
  };
}

/** Returns why the sandbox does not work; undefined if it works. */
async function problemOfSandbox(): Promise<string | undefined> {
  const { checkExecSandbox } = await import('@toolscript/tools');
  const refusal = await checkExecSandbox();
  return refusal === undefined ? undefined : `${refusal.reason} ${refusal.fix}`;
}

/** The policy of a gateway: like `suspendingPolicy`, with the rules that users add meanwhile. */
export function gatewayPolicy({ approve }: Settings, rules: WorkspaceRules): ApprovalPolicy {
  if (approve !== 'ask') return withoutAsking(approve, rules.rules);
  return {
    rules: [...rules.rules, { action: 'ask' }],
    ask: (request) => (rules.allows(request) ? 'approve' : 'suspend'),
  };
}

/**
 * The policy without a terminal. With `ask`, the user's rules and the remembered rules decide, and a call that no rule
 * decides suspends its script. With `auto` or `deny`, no script is suspended.
 */
export function suspendingPolicy(
  { approve, rules }: Settings,
  remembered: readonly Pick<RememberedRule, 'rules'>[],
): ApprovalPolicy {
  if (approve !== 'ask') return withoutAsking(approve, rules);
  return {
    rules: [...rules, ...remembered.flatMap((one) => one.rules), { action: 'ask' }],
    ask: () => 'suspend',
  };
}
