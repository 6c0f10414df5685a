import type { ApprovalCallback, ApprovalPolicy, ApprovalRule, StreamEvent } from '@toolscript/core/protocol';
import type { Approve } from '../configuration/settings.js';
import type { Screen } from '../terminal/screen.js';
import { Asker, type ValidateInput } from './asker.js';
import { openQuestionTerminal, type TerminalOptions } from './question-terminal.js';
import type { WorkspaceRules } from './workspace-rules.js';

/** Who decides in one run, and what has to be told about it. */
export interface Approvals {
  readonly policy: ApprovalPolicy;
  /** Who asks the person; undefined where there is no terminal. */
  asker(): Asker | undefined;
  /** A person was asked, and has seen what waits. */
  readonly hasAsked: boolean;
  take(event: StreamEvent): void;
  /** Leaves what is being asked for later. False: nothing is. */
  putAside(): boolean;
  /** After that: what comes from now on is asked about again. */
  reopen(): void;
  close(): void;
}

export interface ApprovalsOptions extends TerminalOptions {
  approve: Approve;
  rules: WorkspaceRules;
  screen: Screen;
  validateInput: ValidateInput;
  /** What Ctrl-C does while a question is open. */
  interrupt: () => void;
}

/** `ask` without a terminal suspends. */
export function openApprovals(wishes: ApprovalsOptions): Approvals {
  const { approve, rules } = wishes;
  let opened: { asker: Asker | undefined } | undefined;
  const openAsker = (): Asker | undefined => {
    const terminal = openQuestionTerminal(wishes);
    return terminal === undefined ? undefined : new Asker(terminal, wishes);
  };
  const asker = () => (opened ??= { asker: openAsker() }).asker;
  const ask: ApprovalCallback = (request) => {
    const found = asker();
    if (found !== undefined) return found.ask(request);
    return rules.allows(request) ? 'approve' : 'suspend';
  };
  return {
    policy:
      approve === 'ask' ? { rules: [...rules.rules, { action: 'ask' }], ask } : withoutAsking(approve, rules.rules),
    asker,
    get hasAsked() {
      return opened?.asker !== undefined;
    },
    take: (event) => opened?.asker?.take(event),
    putAside: () => opened?.asker?.putAside() === true,
    reopen: () => opened?.asker?.reopen(),
    close: () => opened?.asker?.close(),
  };
}

/** What the person's own rules forbid stays forbidden; `auto` answers what they would ask. */
function withoutAsking(approve: 'auto' | 'deny', rules: readonly ApprovalRule[]): ApprovalPolicy {
  if (!rules.some(({ action }) => action === 'deny')) return approve;
  if (approve === 'deny') return [...rules.filter(({ action }) => action === 'deny'), { action: 'deny' }];
  return [
    ...rules.map((rule): ApprovalRule => (rule.action === 'ask' ? { ...rule, action: 'approve' } : rule)),
    { action: 'approve' },
  ];
}
