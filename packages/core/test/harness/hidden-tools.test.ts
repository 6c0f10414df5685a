import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createHarness } from '#core/index.js';
import { defineTool } from '#core/tools/index.js';

/** A word that only the hidden tools contain, in their names, arguments and descriptions. */
const SECRET = 'vault';

const tool = (name: string, more: { description?: string; argument?: string } = {}) =>
  defineTool({
    name,
    description: more.description ?? 'Reads a page',
    effect: 'read',
    input: z.object({ [more.argument ?? 'page']: z.string() }),
    output: z.object({ title: z.string() }),
    execute: (input) => ({ title: JSON.stringify(input) }),
  });

const hidden = (name: string) =>
  tool(name, { description: `Opens the ${SECRET} of secrets`, argument: `${SECRET}Key` });

const HIDDEN = ['openVault', 'archive.vaultRead', 'bank.vaultList'];

/** Exposes what is not hidden; each hidden tool resembles an exposed one. */
function open(typecheck: 'error' | 'off') {
  return createHarness({
    tools: [tool('openPage'), tool('archive.read'), tool('docs.list'), ...HIDDEN.map(hidden)],
    expose: { tools: ['openPage', 'archive.read', 'docs'] },
    typecheck,
  });
}

/** Calls in which a script almost names a hidden tool, names it, or looks around. */
const SCRIPTS: readonly string[] = [
  'return tools.opnVau1t({})',
  'return tools.openValt({ page: 1 })',
  'return tools.archive.valtRead({ page: 1 })',
  'return tools.archive.vaulRead()',
  'return tools.bank.list({})',
  'return tools.docs.valtList({})',
  'return tools.archive({})',
  'return tools.docs({})',
  'return tools.bank({})',
  'return openValt({ page: "x" })',
  'return archive.valtRead({})',
  'return await open_valt({})',
  'const { openValt } = tools; return openValt({ page: 1 })',
  'return tools["openVa" + "ult"]({ page: 1 })',
  'return tools["open" + "Valt"]({ page: 1 })',
  'try { await (tools as any)["openVa" + "ult"]({}) } catch (error) { return String(error).replace("openVa" + "ult", "") }',
  'return [Object.keys(tools), Reflect.ownKeys(tools), JSON.stringify(tools), Object.keys(tools.archive)]',
  'const seen = []; for (const name in tools) seen.push(name); return [seen, "openVa" + "ult" in tools]',
  'return [await catalog.list(), await catalog.list("archive"), await catalog.list("bank")]',
  'return [await catalog.search("va" + "ult"), await catalog.search("secrets open"), await catalog.search("")]',
  'try { return await catalog.describe("openVa" + "ult") } catch (error) { return error.message.replace("openVa" + "ult", "") }',
  'try { return await catalog.describe("openVal") } catch (error) { return error.message }',
  'return [context, context.capabilities]',
];

/** The names that the script itself contains reveal nothing to it. */
const NAMED = [
  'return tools.openVault({ page: 1 })',
  'return await openVault({ page: 1 })',
  'return tools.archive.vaultRead({ page: 1 })',
  'return tools.bank.vaultList({ page: 1 })',
  'const { openVault } = tools; return openVault({})',
];

const own = (text: string) => text.replaceAll(/openVault|open_vault|vaultRead|vaultList/gu, '');

describe.each(['error', 'off'] as const)('a tool that is not exposed, with typecheck %s', (typecheck) => {
  const harness = open(typecheck);
  afterAll(() => harness.close());

  it('is in no text for the model', () => {
    const texts = [harness.declarations(), harness.instructions(), JSON.stringify(harness.tools().map((t) => t.name))];
    for (const text of texts) {
      expect(text).toContain('openPage');
      expect(text.toLowerCase()).not.toContain(SECRET);
    }
  });

  it.each(SCRIPTS)('is in nothing that a script or its model reads: %s', async (source) => {
    const { operations: _operations, plan: _plan, ...outcome } = await harness.runScript(source);
    // A name that the script itself composed reveals nothing to it.
    const put = source.includes('"openVa"') ? 'openVault' : source;
    expect(JSON.stringify(outcome).replaceAll(put, '').toLowerCase()).not.toContain(SECRET);
  });

  it.each(NAMED)('adds nothing to a name that the script wrote: %s', async (source) => {
    const outcome = await harness.runScript(source);
    expect(outcome.status).toBe('failed');
    expect(own(JSON.stringify(outcome)).toLowerCase()).not.toContain(SECRET);
  });

  it.each(HIDDEN)('is refused as one that does not exist: %s', async (name) => {
    const read = (text: string) => harness.runScript(`return await tools.${text}({ page: 1 })`);
    const [refused, absent] = await Promise.all([read(name), read(name.replace(/vault/iu, 'qqqqq'))]);
    const said = (outcome: typeof refused) => (outcome.status === 'failed' ? outcome.error.message : outcome.status);
    const without = (text: string) => text.replaceAll(/vault|qqqqq/giu, '…').replaceAll(/ Did you mean .*/gu, '');
    expect(without(said(refused))).toBe(without(said(absent)));
  });
});
