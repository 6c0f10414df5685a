import { present } from '@toolscript/core/internal';
import { RuleFolder } from '../approvals/workspace-rules.js';
import { userFolder } from '../configuration/locations.js';
import { loadSettings, type Settings } from '../configuration/settings.js';
import { demandOwnFoldersOutside, workspaceFolder } from '../configuration/workspace-folder.js';
import { EXIT } from '../exit-status.js';
import { openScreen } from '../terminal/screen.js';
import { jsonText, visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';

export interface RulesFlags {
  cwd?: string | undefined;
  remove?: string | undefined;
  clear?: boolean | undefined;
  json?: boolean | undefined;
}

/** Removes the rules that the options name, and lists the calls that are still always allowed in a workspace. */
export async function manageRules({ cwd, remove, clear = false, json = false }: RulesFlags): Promise<number> {
  const screen = openScreen();
  const workspace = await workspaceFolder(cwd);
  demandOwnFoldersOutside(workspace, process.env);
  const folder = new RuleFolder(userFolder(process.env), workspace);
  const rules = await folder.list(screen.notice);
  const removed = clear ? rules : remove === undefined ? [] : [numberedRule(rules, remove)];
  for (const { id } of removed) await folder.remove(id);
  const left = rules.filter((rule) => !removed.includes(rule));
  if (json) {
    screen.write(`${jsonText(left.map(withoutId), 2)}\n`);
    return EXIT.completed;
  }
  for (const { covers } of removed) screen.line(`No longer allowed without asking: ${visibleLine(covers)}`);
  if (left.length === 0) screen.line(`No calls are always allowed in ${visibleLine(workspace)}.`);
  else screen.line(`Always allowed in ${visibleLine(workspace)}:`);
  for (const [index, { covers }] of left.entries()) screen.line(`${index + 1}. ${visibleLine(covers)}`);
  for (const line of sourceRules(await loadSettings(present({ cwd }), process.env, screen.notice))) screen.line(line);
  return EXIT.completed;
}

/** The rules of the configuration about the sources of arguments. */
function sourceRules({ flow, rules }: Pick<Settings, 'flow' | 'rules'>): string[] {
  const guarded = 'Always asked: recipients, URLs, paths and commands that untrusted text may have chosen (flow).';
  const own = rules.filter(({ from }) => from === 'untrusted');
  return [
    ...(flow === undefined ? [] : [guarded]),
    ...own.map(
      ({ tool = 'every tool', action }) =>
        `${action === 'deny' ? 'Denied' : 'Asked'}: ${visibleLine(tool)}, if untrusted text may have chosen a guarded argument.`,
    ),
  ];
}

function numberedRule<Rule>(rules: readonly Rule[], text: string): Rule {
  const rule = /^\d+$/u.test(text) ? rules[Number(text) - 1] : undefined;
  if (rule !== undefined) return rule;
  const have = rules.length === 0 ? 'no rule is stored' : `the rules have the numbers 1 to ${rules.length}`;
  throw new UsageError(
    `--remove ${visibleLine(text)}: there is no such rule; ${have}. To list the rules: toolscript rules`,
  );
}

function withoutId<Rule extends { id: string }>({ id: _id, ...rule }: Rule): Omit<Rule, 'id'> {
  return rule;
}
