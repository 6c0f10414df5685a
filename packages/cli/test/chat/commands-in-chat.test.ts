import { describe, expect, it } from 'vitest';
import { readLine } from '#cli/chat/commands-in-chat.js';
import { PERMISSION_MODES, PermissionMode } from '#cli/approvals/permission-mode.js';

describe('a line of a conversation', () => {
  it('that begins with a slash never reaches the model', () => {
    expect(readLine('/mode plan', [])).toEqual({ type: 'command', command: 'mode', rest: 'plan' });
    expect(readLine('/review the diff', ['review'])).toEqual({ type: 'template', name: 'review', rest: 'the diff' });
    expect(readLine('/modle gpt', [])).toMatchObject({ type: 'mistake', message: expect.stringContaining('/model') });
    expect(readLine('/constructor', [])).toMatchObject({ type: 'mistake' });
  });

  it('with a path, or a slash after a space, is a prompt', () => {
    for (const text of ['/etc/hosts is empty?', ' /mode is a word', 'and/or', '!', '/'])
      expect(readLine(text, []).type).toBe('prompt');
  });

  it('that begins with an exclamation mark is a command line', () => {
    expect(readLine('!git status', [])).toEqual({ type: 'shell', command: 'git status' });
  });
});

describe('a mode', () => {
  const write = { tool: 'writeFile', effect: 'write' } as const;
  const exec = { tool: 'exec', effect: 'external' } as const;
  const own = [{ tool: 'exec', action: 'approve' } as const];

  it('plan refuses what changes something, even if a rule allows it', () => {
    const mode = new PermissionMode();
    mode.current = 'plan';
    expect(mode.answer(exec)).toMatchObject({ decision: 'deny' });
    expect(mode.rules(own).findIndex(({ action }) => action === 'deny')).toBeLessThan(2);
    expect(mode.rules(own).at(1)).toEqual({ effect: 'external', action: 'deny' });
  });

  it('auto-edit allows edits alone', () => {
    const mode = new PermissionMode();
    mode.current = 'auto-edit';
    expect([mode.answer(write), mode.answer(exec)]).toEqual(['approve', undefined]);
  });

  it('never answers about an argument that untrusted text may have chosen, except to refuse it', () => {
    const provenance = {
      guarded: ['path'],
      arguments: {},
      literals: {},
      status: 'proven',
      reasons: { path: 'it comes from fetchUrl' },
    } as const;
    const mode = new PermissionMode();
    for (const current of PERMISSION_MODES) {
      mode.current = current;
      const answer = mode.answer({ ...write, provenance });
      if (current === 'plan') expect(answer).toMatchObject({ decision: 'deny' });
      else expect(answer).toBeUndefined();
    }
  });

  it('auto keeps the rules that deny', () => {
    const mode = new PermissionMode();
    mode.current = 'auto';
    expect(mode.rules([{ tool: 'exec', action: 'deny' }, { action: 'ask' }])).toEqual([
      { tool: 'exec', action: 'deny' },
      { action: 'approve' },
      { action: 'approve' },
    ]);
  });
});
