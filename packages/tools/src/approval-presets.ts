import { ToolscriptUsageError, type ApprovalRule } from '@toolscript/core/protocol';

/*
 * Approval rules as users know them from coding agents. Use them as
 * `approvals: { rules: workspaceWritePreset({ allow: ['npm test'] }), ask }`.
 */

export interface CommandRules {
  /** Prefixes of the allowed `exec` commands, such as 'npm test' or 'git diff'. A prefix matches whole words. */
  readonly allow?: readonly string[] | undefined;
  /**
   * Patterns of denied commands, with `*`, such as '*rm -rf*'. A pattern is matched against the whole text of a
   * command, so it also applies to a command inside a shell line.
   */
  readonly deny?: readonly string[] | undefined;
}

/** Asks before every change except the commands in `allow`. Reads need no approval. */
export function readOnlyPreset(commands: CommandRules = {}): ApprovalRule[] {
  return [...commandRules(commands), { action: 'ask' }];
}

/**
 * Allows the commands in `allow`, and writeFile and applyPatch, which stay inside the roots. Asks before every other
 * change.
 */
export function workspaceWritePreset(commands: CommandRules = {}): ApprovalRule[] {
  return [
    ...commandRules(commands),
    { tool: 'writeFile', effect: 'write', action: 'approve' },
    { tool: 'applyPatch', effect: 'write', action: 'approve' },
    { action: 'ask' },
  ];
}

/** Allows everything except the commands in `deny`. */
export function fullPreset({ deny = [] }: Pick<CommandRules, 'deny'> = {}): ApprovalRule[] {
  return [...commandRules({ deny }), { action: 'approve' }];
}

/**
 * Rules for commands only. A prefix matches whole words of a command. No prefix approves a command whose text does not
 * determine what runs, such as a command that runs a shell or `sudo`, names its program by a path, or sets a variable.
 * Throws a ToolscriptUsageError for a prefix that is empty or contains `*`.
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
  if (text === '' || text.includes('*')) throw new ToolscriptUsageError('COMMAND_PREFIX_INVALID', { prefix });
  return text;
}
