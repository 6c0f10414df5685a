import { ToolscriptUsageError, type ApprovalRule } from '@toolscript/core/protocol';

/*
 * Rules as people know them from coding agents. They are used as
 * `approvals: { rules: workspaceWritePreset({ allow: ['npm test'] }), ask }`.
 */

export interface CommandRules {
  /** Commands of `exec` that pass: the words they begin with, such as 'npm test' or 'git diff'. */
  readonly allow?: readonly string[];
  /** Commands that never run, also inside a shell: a text with `*` for any text, such as '*rm -rf*'. */
  readonly deny?: readonly string[];
}

/** Asks for everything that changes anything. Reading needs no approval. */
export function readOnlyPreset(commands: CommandRules = {}): ApprovalRule[] {
  return [...commandRules(commands), { action: 'ask' }];
}

/** Lets writeFile and applyPatch pass, which stay inside the roots; asks for everything else that changes anything. */
export function workspaceWritePreset(commands: CommandRules = {}): ApprovalRule[] {
  return [
    ...commandRules(commands),
    { tool: 'writeFile', effect: 'write', action: 'approve' },
    { tool: 'applyPatch', effect: 'write', action: 'approve' },
    { action: 'ask' },
  ];
}

/** Lets everything pass but what `deny` names. */
export function fullPreset({ deny = [] }: Pick<CommandRules, 'deny'> = {}): ApprovalRule[] {
  return [...commandRules({ deny }), { action: 'approve' }];
}

/**
 * Rules for commands alone. An allowed command is matched by whole words and never through a shell, `env`, `xargs`,
 * `sudo`, a path or a variable. Throws a ToolscriptUsageError for an empty prefix and for one with `*`.
 */
export function commandRules({ allow = [], deny = [] }: CommandRules): ApprovalRule[] {
  return [
    ...deny.flatMap((pattern): ApprovalRule[] => [
      { tool: 'exec', permission: `exec:${pattern}`, action: 'deny' },
      { tool: 'shell', permission: `shell:${pattern}`, action: 'deny' },
    ]),
    ...allow.map(checkedPrefix).flatMap((prefix): ApprovalRule[] => [
      { tool: 'exec', permission: `exec:${prefix}`, action: 'approve' },
      { tool: 'exec', permission: `exec:${prefix} *`, action: 'approve' },
    ]),
  ];
}

function checkedPrefix(prefix: string): string {
  const text = prefix.trim();
  if (text === '' || text.includes('*'))
    throw new ToolscriptUsageError(`"${prefix}" is no command prefix: write the words that the command begins with.`);
  return text;
}
