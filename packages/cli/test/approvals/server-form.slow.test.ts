import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { referenceServer } from '../../../mcp/test/support/reference-servers.js';
import { McpPlace } from '../mcp/mcp-place.js';
import { PROGRAM } from '../support/program.js';
import { atTerminal, hasTerminal, PROMPT } from '../support/terminal.js';

const FORM = '[n] no:';
const ASK = `return await tools.mcp.everything.trigger_elicitation_request({})`;

/** An evaluation at a terminal, with the reference server that asks its user for a form. */
async function evaluate(code: string, presses: readonly (readonly [string, string])[], written?: string) {
  const place = new McpPlace();
  place.useServers({ everything: { ...referenceServer('everything'), tools: { '*': 'allow' } } });
  const [editor, seen] = [join(place.base, 'editor'), join(place.base, 'seen')];
  writeFileSync(join(place.base, 'written'), written ?? '');
  writeFileSync(editor, `#!/bin/sh\ncp "$1" ${seen}\ncp ${join(place.base, 'written')} "$1"\n`, { mode: 0o755 });
  const command = `cd ${place.workspace} && ${process.execPath} ${PROGRAM} eval -e '${code}'`;
  const { status, shown } = await atTerminal(command, presses, { ...place.env, VISUAL: editor } as never);
  return { status, shown, seen: () => JSON.parse(readFileSync(seen, 'utf8')) as Record<string, unknown> };
}

describe.skipIf(!hasTerminal)('the form of an MCP server at a terminal (skipped where `script` gives none)', () => {
  it('is filled in in the editor, checked and sent', async () => {
    const written = JSON.stringify({ name: 'Ada', check: true, integer: null, email: 'ada@example.com' });
    const { status, shown, seen } = await evaluate(
      ASK,
      [
        [FORM, 'y'],
        ['[e] changes the answer', ''],
        [FORM, 'e'],
        ['Your answer:', ''],
        [FORM, 'y'],
      ],
      written,
    );
    expect(status, shown).toBe(0);
    expect(shown).toContain('The MCP server everything asks you');
    expect(shown).toContain('The server gets your answer. Give it no password and no key.');
    expect(shown).toContain(
      'The answer was not sent: name: expected string, received undefined. [e] changes the answer',
    );
    expect(shown).toContain('untitledMultipleSelectEnum (any of: "Guitar", ');
    expect(Object.keys(seen())).toContain('name');
    expect(shown).toMatch(/Name: Ada/u);
  });

  it('is declined with n', async () => {
    const { status, shown } = await evaluate(ASK, [[FORM, 'n']]);
    expect(status, shown).toBe(0);
    expect(shown).toMatch(/declined/u);
  });

  it('waits until the question before it is answered', async () => {
    const code = `return await Promise.all([tools.writeFile({ path: "a.txt", content: "one" }), tools.mcp.everything.trigger_elicitation_request({})])`;
    const { status, shown } = await evaluate(code, [
      [PROMPT, 'y'],
      [FORM, 'n'],
    ]);
    expect(status, shown).toBe(0);
    expect(shown.indexOf(PROMPT)).toBeLessThan(shown.indexOf(FORM));
  });
});
