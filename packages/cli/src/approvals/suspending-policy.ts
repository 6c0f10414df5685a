import type { ApprovalPolicy } from '@toolscript/core/protocol';
import type { Settings } from '../configuration/settings.js';
import { withoutAsking } from './approvals.js';
import type { RememberedRule } from './workspace-rules.js';

/**
 * Without a terminal, the user's rules and the remembered ones decide. A script with a call that they do not decide is
 * suspended.
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
