import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHarness } from '@toolscript/core';
import { LOCAL_PRINCIPAL } from '@toolscript/service';
import { promptTools, snippetTools } from '@toolscript/tools';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findPrompts } from '#cli/configuration/prompt-files.js';
import { openCabinetTools } from '#cli/harness/exposure.js';
import { ThreadDatabase } from '#cli/threads/thread-database.js';
import { Place } from '../support/place.js';

/** A conversation in the user's own database, and a harness whose scripts save there. */
async function openConversation(place: Place) {
  const database = await ThreadDatabase.open(place.env);
  onTestFinished(() => database.close());
  const workspace = realpathSync(place.workspace);
  const { threadId } = await database.stores.threads.create({
    threadId: 'thr_one',
    principal: LOCAL_PRINCIPAL,
    title: 'One',
    workspace,
  });
  const library = { documents: database.stores.documents, workspace, principal: LOCAL_PRINCIPAL };
  const harness = createHarness({ tools: [...snippetTools(library), ...promptTools(library)], approvals: 'auto' });
  onTestFinished(() => harness.close());
  const value = async (source: string, thread: string = threadId) => {
    const outcome = await harness.runScript(source, { threadId: thread });
    return outcome.status === 'completed' ? outcome.value : JSON.stringify(outcome);
  };
  return { database, threadId, value };
}

const save = (name: string, source: string, scope: string) =>
  `return (await tools.snippets.save(${JSON.stringify({ name, description: `The ${name}`, source, input: { type: 'object' }, scope })})).version`;

describe('toolscript snippets', () => {
  it('lists, shows and deletes the scripts that were saved in the database of conversations', async () => {
    const place = new Place();
    const { database, threadId, value } = await openConversation(place);
    expect(await value(save('shared', 'return 1', 'workspace'))).toBe(1);
    expect(await value(save('shared', "return '\u202e'", 'workspace'))).toBe(2);
    expect(await value(save('mine', 'return 3', 'principal'))).toBe(1);
    expect(await value(save('here', 'return 4', 'thread'))).toBe(1);
    expect(
      await value("return [await tools.snippets.run({ name: 'mine' }), await tools.snippets.run({ name: 'here' })]"),
    ).toEqual([3, 4]);
    expect(await value("return await tools.snippets.run({ name: 'here' }).catch(() => 'absent')", 'thr_two')).toBe(
      'absent',
    );
    await database.close();

    const all = await place.run(['snippets']);
    expect(all).toMatchObject({
      status: 0,
      stdout: 'mine  version 1, principal  The mine\nshared  version 2, workspace  The shared\n',
    });
    const ofThread = await place.run(['snippets', '--thread', threadId, '--json']);
    expect((JSON.parse(ofThread.stdout) as { name: string }[]).map(({ name }) => name)).toEqual([
      'here',
      'mine',
      'shared',
    ]);

    const shown = await place.run(['snippets', 'show', 'shared']);
    expect(shown.stdout).toContain('input: {"type":"object"}');
    expect(shown.stdout).not.toContain('\u202e');
    expect((await place.run(['snippets', 'show', 'shared', '--saved', '1'])).stdout).toContain('return 1');
    const absent = await place.run(['snippets', 'show', 'here']);
    expect(absent).toMatchObject({ status: 2 });
    expect(absent.stderr).toBe('toolscript: There is no snippet "here". To list them: toolscript snippets\n');

    expect((await place.run(['snippets', 'delete', 'shared'])).stdout).toBe('shared (workspace) is deleted.\n');
    expect((await place.run(['snippets', 'delete', 'shared'])).status).toBe(2);
    expect((await place.run(['snippets', 'show', 'mine', '--saved', '0'])).status).toBe(2);
  });

  it('demands the scope of a name that exists in several', async () => {
    const place = new Place();
    const { database, value } = await openConversation(place);
    for (const scope of ['principal', 'workspace']) expect(await value(save('both', 'return 1', scope))).toBe(1);
    await database.close();
    const refused = await place.run(['snippets', 'delete', 'both']);
    expect(refused.status).toBe(2);
    expect(refused.stderr).toContain('Add --scope principal or --scope workspace.');
    expect((await place.run(['snippets', 'delete', 'both', '--scope', 'principal'])).status).toBe(0);
    expect((await place.run(['snippets'])).stdout).toBe('both  version 1, workspace  The both\n');
  });
});

describe('the tools of a conversation', () => {
  it('include the saved scripts of the user and the workspace, but no saved script where users share a server', async () => {
    const place = new Place();
    const { database, value } = await openConversation(place);
    expect(await value(save('mine', 'return 1', 'principal'))).toBe(1);
    expect(await value(save('here', 'return 1', 'thread'))).toBe(1);
    const { documents } = database.stores;
    const names = async (workspace?: string) =>
      (await openCabinetTools({ documents, workspace }))
        .map(({ name }) => name)
        .filter((name) => /[.](?:mine|here)$/u.test(name));
    expect(await names(realpathSync(place.workspace))).toEqual(['snippets.mine']);
    expect(await names()).toEqual([]);
  });
});

describe('the prompts of files', () => {
  it('are those of the user, and those of a workspace that the user trusts', async () => {
    const place = new Place();
    const workspace = realpathSync(place.workspace);
    const own = join(place.env['XDG_CONFIG_HOME']!, 'toolscript/prompts');
    const theirs = join(workspace, '.toolscript/prompts');
    for (const folder of [own, theirs]) mkdirSync(folder, { recursive: true });
    writeFileSync(join(own, 'review.md'), 'Mine');
    writeFileSync(join(theirs, 'review.md'), 'Theirs');
    writeFileSync(join(theirs, 'plan.md'), 'Plan');
    writeFileSync(join(place.base, 'secret.md'), 'Secret');
    symlinkSync(join(place.base, 'secret.md'), join(theirs, 'secret.md'));
    symlinkSync(join(theirs, 'plan.md'), join(own, 'plan.md'));
    const find = async () => {
      const warnings: string[] = [];
      const found = await findPrompts(place.env, workspace, (message) => warnings.push(message));
      return { texts: found.map(({ text }) => text), warnings: warnings.join('\n') };
    };
    const untrusted = await find();
    expect(untrusted.texts).toEqual(['Mine']);
    expect(untrusted.warnings).toContain('To trust it: toolscript trust ');

    expect((await place.run(['trust', workspace])).status).toBe(0);
    const trusted = await find();
    expect(trusted.texts).toEqual(['Mine', 'Plan']);
    expect(trusted.warnings).toContain('secret.md is a link');
    expect(trusted.warnings).toContain('you have a prompt "review" of your own');
    expect(trusted.warnings).toContain('leads into the workspace');
  });
});
