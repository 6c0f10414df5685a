import type { ApprovalPolicy } from '@toolscript/core/protocol';
import { userFolder } from '../configuration/locations.js';
import type { Settings } from '../configuration/settings.js';
import { withoutAsking } from './approvals.js';
import { RuleFolder } from './rule-folder.js';

/** Without a terminal, the user's rules decide. A script with a call that they do not decide is suspended. */
export async function suspendingPolicy(
  { approve, cwd, rules }: Settings,
  warn: (message: string) => void,
): Promise<ApprovalPolicy> {
  if (approve !== 'ask') return withoutAsking(approve, rules);
  const remembered = await new RuleFolder(userFolder(process.env), cwd).list(warn);
  return {
    rules: [...rules, ...remembered.flatMap((one) => one.rules), { action: 'ask' }],
    ask: () => 'suspend',
  };
}
