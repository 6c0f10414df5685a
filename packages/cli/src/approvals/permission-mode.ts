import type { ApprovalRequest, ApprovalRule, Decision } from '@toolscript/core/protocol';

/**
 * The modes of a conversation. `plan`: calls that change something are refused. `ask`: the user decides about them.
 * `auto-edit`: the tools that edit files of the workspace need no decision. `auto`: no call needs one. In every mode,
 * the rules that deny stay in force.
 */
export const PERMISSION_MODES = ['plan', 'ask', 'auto-edit', 'auto'] as const;
export type PermissionModeName = (typeof PERMISSION_MODES)[number];

/** The tools that edit only files in the workspace. */
const EDITS = ['writeFile', 'applyPatch'];

/** The reason that a script reads in plan mode. */
const PLAN_REASON = 'plan mode: only calls that read are allowed. Describe the change instead.';

/** The current mode of a conversation. It applies to calls that ask from now on, and to the rules of later scripts. */
export class PermissionMode {
  current: PermissionModeName = 'ask';

  /** Selects the next mode in the order of the list. */
  advance(): PermissionModeName {
    this.current = PERMISSION_MODES[(PERMISSION_MODES.indexOf(this.current) + 1) % PERMISSION_MODES.length]!;
    return this.current;
  }

  /** The rules of a script that starts now. */
  rules(own: readonly ApprovalRule[]): ApprovalRule[] {
    switch (this.current) {
      case 'plan':
        // defence: plan-mode-changes-nothing
        return [{ effect: 'write', action: 'deny' }, { effect: 'external', action: 'deny' }, ...own, { action: 'ask' }];
      case 'ask':
        return [...own, { action: 'ask' }];
      case 'auto-edit':
        return [...own, ...EDITS.map((tool): ApprovalRule => ({ tool, action: 'approve' })), { action: 'ask' }];
      case 'auto':
        return [...own.map(withoutQuestion), { action: 'approve' }];
    }
  }

  /** The answer to a call that asks although the mode decides about it. Undefined: the user decides. */
  answer(request: Pick<ApprovalRequest, 'tool' | 'effect' | 'provenance'>): Decision | undefined {
    const { tool, effect } = request;
    // defence: modes-allow-no-doubtful-source
    if (this.current !== 'plan' && hasDoubtfulSource(request)) return undefined;
    switch (this.current) {
      case 'plan':
        return effect === 'read' ? undefined : { decision: 'deny', note: PLAN_REASON };
      case 'ask':
        return undefined;
      case 'auto-edit':
        return EDITS.includes(tool) ? 'approve' : undefined;
      case 'auto':
        return 'approve';
    }
  }
}

/** Whether untrusted text may have chosen an argument. No rule, mode or earlier answer then stands for the user. */
export function hasDoubtfulSource({ provenance }: Pick<ApprovalRequest, 'provenance'>): boolean {
  return Object.keys(provenance?.reasons ?? {}).length > 0;
}

function withoutQuestion(rule: ApprovalRule): ApprovalRule {
  return rule.action === 'ask' ? { ...rule, action: 'approve' } : rule;
}
