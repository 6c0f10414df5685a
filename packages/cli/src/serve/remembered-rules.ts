import type { RememberedRules } from '@toolscript/server/access';
import { WorkspaceRules, type RuleFolder, type SuggestRules } from '../approvals/workspace-rules.js';
import type { Settings } from '../configuration/settings.js';

/** The remembered approvals of the workspace, for the server's API. */
export function rememberedRules(
  folder: RuleFolder,
  { rules: own }: Pick<Settings, 'rules'>,
  suggestRules: SuggestRules,
  warn: (message: string) => void,
): RememberedRules {
  const list = async () => {
    const rules = await folder.list(warn);
    return rules.map(({ id, covers, rememberedAt }) => ({ ruleId: id, covers, rememberedAt }));
  };
  return {
    list,
    suggest(tool, call) {
      const rules = new WorkspaceRules(own, [], folder);
      rules.know(() => [tool], suggestRules);
      const [rule] = rules.suggest(call);
      return rule && { covers: rule.covers, add: () => folder.add(rule) };
    },
    async delete(ruleId) {
      const isThere = (await list()).some((rule) => rule.ruleId === ruleId);
      if (isThere) await folder.remove(ruleId);
      return isThere;
    },
  };
}
