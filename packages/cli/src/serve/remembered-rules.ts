import type { RememberedRules } from '@toolscript/server/access';
import type { RuleFolder } from '../approvals/rule-folder.js';

/** The remembered approvals of the workspace, for the server's API. */
export function rememberedRules(folder: RuleFolder, warn: (message: string) => void): RememberedRules {
  const list = async () => {
    const rules = await folder.list(warn);
    return rules.map(({ id, covers, rememberedAt }) => ({ ruleId: id, covers, rememberedAt }));
  };
  return {
    list,
    async delete(ruleId) {
      const isThere = (await list()).some((rule) => rule.ruleId === ruleId);
      if (isThere) await folder.remove(ruleId);
      return isThere;
    },
  };
}
