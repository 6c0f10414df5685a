import { chmodSync, existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StreamEventSchema } from '@toolscript/core/protocol';
import { describe, expect, it } from 'vitest';
import { obtainKeyFile } from '@toolscript/core/internal';
import { finished, PROGRAM, said, start } from '../support/program.js';
import { Place, scriptIdIn } from '../support/place.js';
import { atTerminal, hasTerminal, PROMPT } from '../support/terminal.js';
import { newFolder } from '@toolscript/testkit/folder';
import { until } from '@toolscript/testkit/until';

const WRITE = "console.log('begun');\nawait tools.writeFile({ path: 'a.txt', content: 'one' });\nreturn 'written';";
const TWO = `return (await Promise.allSettled(['a', 'b'].map((name) =>
  tools.writeFile({ path: name + '.txt', content: name })))).map((one) => one.status).join(' and ');`;
const SLOW = `await tools.writeFile({ path: 'a.txt', content: 'a' });
console.log('now slow');
try { await tools.exec({ command: ['sleep', '30'] }); } catch (error) { console.log('caught: ' + error.message); }
await tools.writeFile({ path: 'b.txt', content: 'b' });
return 'the end';`;

function read(place: Place, name: string): string | undefined {
  const path = join(place.workspace, name);
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

function audit(place: Place): Record<string, unknown>[] {
  const lines = readFileSync(place.kept('audit.jsonl'), 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

async function pending(place: Place, id: string): Promise<{ approvalId: string; inputJson: string }[]> {
  const { stdout } = await place.run(['approvals', 'show', id, '--json']);
  return (JSON.parse(stdout) as { pendingApprovals: { approvalId: string; inputJson: string }[] }).pendingApprovals;
}

describe('a script that needs an approval, without a terminal', () => {
  it('waits, names the approval, and is resumed by the printed command; then the later scripts run', async () => {
    const place = new Place();
    const { id, stdout } = await place.suspend(WRITE, "return (await tools.readFile({ path: 'a.txt' })).lines;");
    for (const part of ['[script] begun', 'line 2', 'writeFile', 'a.txt', `toolscript approvals show ${id}`])
      expect(stdout).toContain(part);
    expect(stdout).toMatch(/Between\.[\s\S]*After\./u);
    const [approve = ''] = /toolscript resume .*--approve$/mu.exec(stdout) ?? [];
    const resumed = await place.shell(approve);
    expect(resumed).toMatchObject({ status: 0, stderr: '' });
    expect(resumed.stdout).toMatch(/✓ writeFile a\.txt[\s\S]*"written"[\s\S]*"one"/u);
    expect(resumed.stdout).not.toContain('begun');
    expect(read(place, 'a.txt')).toBe('one');
  });

  it('is denied by the other printed command; the script reads the note', async () => {
    const place = new Place();
    const { id, stdout } = await place.suspend(`try { ${WRITE} } catch (error) { return error.message }`);
    const [deny = ''] = /toolscript resume .*--deny$/mu.exec(stdout) ?? [];
    const resumed = await place.shell(`${deny} --note 'not on a Friday'`);
    expect(resumed.status).toBe(0);
    expect(resumed.stdout).toContain('not on a Friday');
    expect(read(place, 'a.txt')).toBeUndefined();
    const [entry] = audit(place);
    expect(entry).toMatchObject({
      type: 'approval',
      scriptId: id,
      decision: 'deny',
      by: 'person',
      note: 'not on a Friday',
    });
  });

  it('does not end by itself: wait prints how to continue it, and after cancel it cannot be resumed', async () => {
    const place = new Place();
    const { id } = await place.suspend(WRITE);
    const waited = await place.run(['wait', id]);
    expect(waited).toMatchObject({ status: 3, stdout: expect.stringContaining(`resume ${id} --approve`) as string });
    expect((await place.run(['cancel', id])).status).toBe(1);
    expect((await place.run(['resume', id, '--approve'])).status).not.toBe(0);
    expect((await place.run(['wait', id])).stdout).toContain('cancelled');
    expect(read(place, 'a.txt')).toBeUndefined();
  });

  it('with --json prints events alone, and eval the outcome; the commands go to stderr', async () => {
    const place = new Place();
    const run = await place.run(['run', '--json', place.answer(WRITE)]);
    expect(run.status).toBe(3);
    const events = run.stdout
      .trimEnd()
      .split('\n')
      .map((line) => StreamEventSchema.parse(JSON.parse(line)));
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'suspended' });
    expect(run.stderr).toContain(
      `toolscript resume ${scriptIdIn(JSON.stringify(events.at(-1)!.payload))} --json --approve`,
    );
    const evaluated = await place.run(['eval', '--json', '-e', WRITE]);
    expect(evaluated.status).toBe(3);
    const outcome = JSON.parse(evaluated.stdout) as { status: string; scriptId: string; suspension: string };
    expect(outcome.status).toBe('suspended');
    const resumed = await place.run(['resume', outcome.scriptId, '--approve', '--json']);
    expect(JSON.parse(resumed.stdout)).toMatchObject({ status: 'completed', value: 'written' });
  });

  it('one of two calls is approved while the other stays pending, and is denied later', async () => {
    const place = new Place();
    const { id } = await place.suspend(TWO);
    const [first, second] = await pending(place, id);
    const some = await place.run(['resume', id, '--approve', first!.approvalId.slice(0, 14)]);
    expect(some.status).toBe(3);
    expect(some.stdout).toContain(`toolscript resume ${id}`);
    expect(await pending(place, id)).toEqual([second]);
    const all = await place.run(['resume', id, '--deny', second!.approvalId]);
    expect(all).toMatchObject({ status: 0 });
    expect(all.stdout).toContain('fulfilled and rejected');
  });

  it('runs with the arguments of the user; arguments that do not fit are rejected and change nothing', async () => {
    const place = new Place();
    const { id } = await place.suspend(WRITE);
    for (const [input, why] of [
      ['{', 'is not JSON'],
      ['{"path":"b.txt","content":1}', 'content'],
    ] as const) {
      const refused = await place.run(['resume', id, '--approve', '--input', input]);
      expect(refused.status).toBe(2);
      expect(refused.stderr).toContain(why);
    }
    const input = '{"path":"b.txt","content":"mine"}';
    const resumed = await place.run(['resume', id, '--approve', '--input', input]);
    expect(resumed.status).toBe(0);
    expect([read(place, 'a.txt'), read(place, 'b.txt')]).toEqual([undefined, 'mine']);
    expect(audit(place)[0]).toMatchObject({
      decision: 'approve',
      inputJson: input,
      replacedInputJson: '{"path":"a.txt","content":"one"}',
    });
  });

  it('a decision for the plan, or for the tool, answers later calls', async () => {
    const place = new Place();
    const computed = `for (const name of ['a', 'b', 'c']) await tools.writeFile({ path: name + '.txt', content: name });`;
    const literal = `for (const _ of [1, 2]) await tools.writeFile({ path: 'd.txt', content: 'd' });`;
    for (const [remember, source, status] of [
      ['plan', literal, 0],
      // The script's text does not show these arguments to anyone.
      ['plan', computed, 3],
      ['script', computed, 0],
    ] as const) {
      const { id } = await place.suspend(source);
      expect(await place.run(['resume', id, '--approve', '--remember', remember])).toMatchObject({ status });
    }
  });

  it('is remembered for the workspace: the next script does not wait', async () => {
    const place = new Place();
    const { id } = await place.suspend(WRITE);
    expect((await place.run(['resume', id, '--approve', '--remember', 'workspace'])).status).toBe(0);
    expect((await place.run(['run', place.answer(WRITE)])).status).toBe(0);
  });

  it('leaves no data if it needs no store', async () => {
    const place = new Place();
    expect((await place.run(['eval', '-e', "return (await tools.listDir({ path: '.' })).entries.length"])).status).toBe(
      0,
    );
    expect((await place.run(['approvals'])).stdout).toContain('No script waits');
    expect(existsSync(place.data)).toBe(false);
  });
});

describe('the stored data', () => {
  it('cannot be read by other users', async () => {
    const place = new Place();
    const { id } = await place.suspend(WRITE);
    await place.run(['resume', id, '--approve']);
    const all = readdirSync(place.data, { recursive: true, withFileTypes: true });
    expect(all.length).toBeGreaterThan(8);
    for (const entry of all) {
      const path = join(entry.parentPath, entry.name);
      expect([path, (statSync(path).mode & 0o077).toString(8)]).toEqual([path, '0']);
    }
    for (const name of ['suspension.key', 'audit.jsonl']) expect(statSync(place.kept(name)).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['is readable by others', (key: string) => chmodSync(key, 0o644), 'is accessible to other users'],
    ['is too short', (key: string) => writeFileSync(key, 'short'), 'a key has at least 32'],
  ])('is rejected if the key %s', async (_name, spoil, why) => {
    const place = new Place();
    await place.suspend(WRITE);
    spoil(place.kept('suspension.key'));
    const { status, stderr } = await place.run(['run', place.answer(WRITE)]);
    expect(status).toBe(2);
    expect(stderr).toContain(why);
    expect((await place.run(['doctor'])).stdout).toContain(why);
  });

  it('does not open with another key, nor after it was changed', async () => {
    const place = new Place();
    const { id } = await place.suspend(WRITE);
    const key = readFileSync(place.kept('suspension.key'));
    writeFileSync(place.kept('suspension.key'), Buffer.alloc(32, 1));
    const other = await place.run(['resume', id, '--approve']);
    expect(other.status).toBe(2);
    expect(other.stderr).toMatch(/written with the suspension key [\da-f]{16}, which this process does not have/u);
    writeFileSync(place.kept('suspension.key'), key);
    const folder = place.kept('scripts', 'claims', id);
    const slot = join(
      folder,
      readdirSync(folder).find((name) => name.startsWith('slot-'))!,
    );
    const sealed = readFileSync(slot, 'utf8');
    writeFileSync(slot, sealed.replace(/(sealed":"[\w+/]{40})./u, '$1!'));
    const changed = await place.run(['resume', id, '--approve']);
    expect(changed.status).toBe(2);
    expect(changed.stderr).toContain(`To recover it: toolscript resume ${id}`);
    expect((await place.run(['approvals', 'show', id])).stdout).toContain('can no longer be read');
    const journal = place.kept('scripts', 'journal', `${id}.jsonl`);
    truncateSync(journal, statSync(journal).size - 40);
    const cut = await place.run(['resume', id, '--approve']);
    expect(cut.status).toBe(2);
    expect(cut.stderr).toContain(`${id} cannot be opened: 1 of its entries at the end of epoch 1 are missing`);
    const damaged = await place.run(['approvals']);
    expect(damaged).toMatchObject({ status: 0 });
    expect(damaged.stderr).toContain(`toolscript approvals delete ${id}`);
    expect((await place.run(['approvals', 'delete', id])).status).toBe(0);
    expect(read(place, 'a.txt')).toBeUndefined();
  });

  it('uses one key when several processes create it at once', async () => {
    const folder = newFolder();
    const path = join(folder, 'a', 'suspension.key');
    const script = `import { obtainKeyFile } from '@toolscript/core/internal';
process.stdout.write(Buffer.from(obtainKeyFile(process.argv[1])).toString('hex'))`;
    const cwd = new URL('../..', import.meta.url).pathname;
    const keys = await Promise.all(
      Array.from({ length: 6 }, () =>
        finished(start(process.execPath, ['--input-type=module', '-e', script, path], { cwd })),
      ),
    );
    expect(keys.map(({ stderr }) => stderr).join('')).toBe('');
    expect(new Set(keys.map(({ stdout }) => stdout))).toEqual(
      new Set([Buffer.from(obtainKeyFile(path)).toString('hex')]),
    );
    expect(readdirSync(join(folder, 'a'))).toEqual(['suspension.key']);
  });
});

describe('toolscript resume', () => {
  it('run twice at once resumes exactly once, and the other run reports it', async () => {
    const place = new Place();
    const { id } = await place.suspend(WRITE);
    const both = await Promise.all([1, 2].map(() => place.toolscript(['resume', id, '--approve'])));
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([0, 1]));
    const loser = both.find(({ status }) => status === 1)!;
    expect(loser.stderr).toMatch(
      /^toolscript: (?:This script was already resumed|Another process is already running|This script has already ended).*\n$/u,
    );
    expect(audit(place).filter(({ type }) => type === 'call_started')).toHaveLength(1);
    const late = await place.run(['resume', id, '--approve']);
    expect(late.status).toBe(1);
    expect(late.stderr).toContain('has already ended');
  });

  it('rejects an ambiguous decision, and lists the pending approvals', async () => {
    const place = new Place();
    const { id } = await place.suspend(WRITE);
    const [{ approvalId } = { approvalId: '' }] = await pending(place, id);
    const refusals: [string[], string][] = [
      [[id], approvalId],
      [['scr_nothing', '--approve'], 'no stored script'],
      [[id, '--approve', 'apr_x'], approvalId],
      [[id, '--approve', '--deny'], 'Name the approvals'],
      [[id, '--approve', approvalId, '--deny', approvalId], 'both'],
      [[id, '--note', 'x'], '--approve or --deny'],
      [[id, '--deny', '--input', '{}'], 'Add --approve'],
      [[id, '--approve', '--cwd', place.base], place.workspace],
    ];
    const off = await place.toolscript(['resume', id, '--approve'], { env: { TOOLSCRIPT_MODE: 'disabled' } });
    expect(off).toMatchObject({ status: 2, stdout: '' });
    for (const [args, said] of refusals) {
      const { status, stderr, stdout } = await place.run(['resume', ...args]);
      expect([args, status, stdout]).toEqual([args, 2, '']);
      expect(stderr).toContain(said);
    }
    expect((await place.run(['resume', id.slice(0, -1), '--approve'])).status).toBe(0);
  });

  it('resumes only in the workspace of the script, whatever the current folder', async () => {
    const place = new Place();
    const { id } = await place.suspend(WRITE);
    expect((await place.toolscript(['resume', id, '--approve'], { cwd: newFolder() })).status).toBe(0);
    expect(read(place, 'a.txt')).toBe('one');
  });

  it.skipIf(!hasTerminal)('asks about each approval at a terminal', async () => {
    const place = new Place();
    const { id } = await place.suspend(TWO);
    const command = `${process.execPath} ${PROGRAM} resume ${id}`;
    const { status, shown } = await atTerminal(
      command,
      [
        [PROMPT, 'l'],
        [PROMPT, 'l'],
        [`toolscript resume ${id}`, ''],
      ],
      place.env,
    );
    expect(status, shown).toBe(3);
    const decided = await atTerminal(
      command,
      [
        [PROMPT, 'y'],
        [PROMPT, 'n\r'],
      ],
      place.env,
    );
    expect(decided.status).toBe(0);
    expect(decided.shown).toContain('fulfilled and rejected');
  });
});

describe('the list of waiting scripts', () => {
  it('begins with the newest, and shows the arguments of its calls', async () => {
    const place = new Place();
    const write = (name: string) => `await tools.writeFile({ path: '${name}', content: 'one' });`;
    const first = await place.suspend(write('first.txt'));
    const second = await place.suspend(write('second.txt'));
    const { stdout } = await place.run(['approvals']);
    const lines = stdout.split('\n').filter((line) => /scr_|writeFile/u.test(line));
    expect(lines.slice(0, 4)).toEqual([
      expect.stringContaining(second.id),
      '    writeFile second.txt, line 1',
      expect.stringContaining(first.id),
      '    writeFile first.txt, line 1',
    ]);
    const listed = JSON.parse((await place.run(['approvals', '--json'])).stdout);
    expect(listed.map((one: { approvals: [{ input: unknown }] }) => one.approvals[0].input)).toEqual([
      { path: 'second.txt', content: 'one' },
      { path: 'first.txt', content: 'one' },
    ]);
  });
});

describe('an interrupted script', () => {
  async function startSlow(place: Place) {
    const child = start(
      process.execPath,
      [PROGRAM, 'run', place.answer(SLOW), '--approve', 'auto', '--exec-sandbox', 'off'],
      { cwd: place.workspace, env: place.env },
    );
    const end = finished(child);
    await said(child, 'now slow');
    await until(() => audit(place).some(({ type, tool }) => type === 'call_started' && tool === 'exec'));
    return { child, end };
  }

  it('is cancelled from another terminal, and a command that waits for it prints its end', async () => {
    const place = new Place();
    const { child, end } = await startSlow(place);
    const id = scriptIdIn((await place.run(['approvals', '--all'])).stdout);
    const waiting = place.toolscript(['wait', id]);
    const cancelled = await place.run(['cancel', id]);
    expect(cancelled.status).toBe(1);
    expect(cancelled.stdout).toMatch(/writeFile a\.txt[\s\S]*cancelled/u);
    expect(await waiting).toMatchObject({ status: 1, stdout: expect.stringContaining('cancelled') as string });
    child.kill('SIGKILL');
    await end;
    const { stdout, status } = await place.run(['wait', id, '--json']);
    expect([status, JSON.parse(stdout)]).toMatchObject([1, { error: { code: 'ScriptCancelledError' } }]);
    expect((await place.run(['recover', id])).status).toBe(1);
    expect(read(place, 'b.txt')).toBeUndefined();
  });

  it.each([
    ['SIGKILL', null],
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('by %s continues; the call in progress is unknown and not repeated', async (signal, status) => {
    const place = new Place();
    const { child, end } = await startSlow(place);
    child.kill(signal);
    const ended = await end;
    expect(ended.status).toBe(status);
    const { stdout } = await place.run(['approvals']);
    const id = scriptIdIn(stdout);
    expect(stdout).toContain('interrupted');
    if (signal !== 'SIGKILL') expect(ended.stdout).toContain(`toolscript resume ${id} --then auto --exec-sandbox off`);
    expect((await place.run(['approvals', 'show', id])).stdout).toContain('? exec sleep 30');
    expect((await place.run(['resume', id, '--approve'])).status).toBe(2);
    const replayed = await place.run(['replay', id]);
    expect(replayed).toMatchObject({ status: 0 });
    expect(replayed.stdout).toMatch(/now slow[\s\S]*the replay ends here/u);
    const resumed = await place.run(['resume', id, '--then', 'auto']);
    expect(resumed.status).toBe(0);
    expect(resumed.stdout).toMatch(/may or may not have taken effect[\s\S]*caught: .*not known[\s\S]*"the end"/u);
    expect(read(place, 'b.txt')).toBe('b');
    const started = audit(place).filter(({ type }) => type === 'call_started');
    expect(started.map(({ tool }) => tool)).toEqual(['writeFile', 'exec', 'writeFile']);
    const whole = await place.run(['replay', id]);
    expect(whole.stdout).toMatch(/now slow[\s\S]*caught[\s\S]*"the end"/u);
  });
});

describe.skipIf(!hasTerminal)('a terminal that is closed while a question is open', () => {
  it('leaves the script waiting', async () => {
    const place = new Place();
    const command = `${process.execPath} ${PROGRAM} run ${place.answer(WRITE)} --cwd ${place.workspace}`;
    const child = start('script', ['-qec', command, '/dev/null'], {
      keepStdinOpen: true,
      env: { ...place.env, TERM: 'xterm', SHELL: '/bin/sh' },
    });
    await said(child, PROMPT);
    child.kill('SIGKILL');
    const listed = async () => (await place.run(['approvals'])).stdout;
    await expect.poll(listed).toContain('  waits');
    expect((await place.run(['resume', 'scr_', '--approve'])).status).toBe(0);
    expect(read(place, 'a.txt')).toBe('one');
  });
});

describe('an answer that has not ended', () => {
  it('is stored as far as it was read if the program ends while its script waits', async () => {
    const place = new Place();
    const child = start(process.execPath, [PROGRAM, 'run', '-', '--json'], {
      keepStdinOpen: true,
      cwd: place.workspace,
      env: place.env,
    });
    const end = finished(child);
    child.stdin.write(
      `<tool-calls>\n${WRITE}\n</tool-calls>\nStill to say.\n<tool-calls>\nreturn 'second'\n</tool-calls>\nNot`,
    );
    await said(child, '"status":"pending"');
    child.kill('SIGTERM');
    expect(await end).toMatchObject({
      status: 143,
      stdout: expect.stringContaining('Still to say.') as unknown,
      stderr: expect.stringContaining('toolscript resume scr_') as unknown,
    });
    const resumed = await place.run(['resume', 'scr_', '--approve']);
    expect(resumed.status).toBe(0);
    expect(resumed.stdout).toMatch(/"written"[\s\S]*"second"/u);
  });
});

describe('toolscript approvals', () => {
  it('lists, shows, deletes and prunes', async () => {
    const place = new Place();
    const { id } = await place.suspend(String.raw`console.log('x\u202ey');` + WRITE);
    const list = await place.run(['approvals']);
    expect(list.stdout).toContain(`${id}  waits`);
    expect(list.stdout).toContain(`writeFile a.txt, line 2\n    in ${place.workspace}`);
    const json = JSON.parse((await place.run(['approvals', '--json'])).stdout) as object[];
    expect(json).toMatchObject([{ scriptId: id, state: 'suspended', workspace: place.workspace }]);
    const shown = (await place.run(['approvals', 'show', id])).stdout;
    for (const part of [
      '> 2 | await tools.writeFile',
      '· writeFile a.txt  line 2',
      '[script] begun',
      'effect: write',
      'apr_',
    ])
      expect(shown).toContain(part);
    expect(shown).not.toContain('\u202e');
    expect((await place.run(['approvals', 'delete', 'scr_no'])).status).toBe(2);
    expect((await place.run(['approvals', 'prune'])).stdout).toContain('No script is old enough');
    expect((await place.run(['approvals', 'delete', id])).stdout).toBe(`Deleted: ${id}\n`);
    expect((await place.run(['approvals'])).stdout).toBe('No script waits for a decision.\n');
    const { id: other } = await place.suspend(WRITE);
    expect((await place.run(['approvals', 'prune', '--waiting-days', '0', '--json'])).stdout).toContain(other);
    expect(readdirSync(place.kept('scripts', 'images'))).toEqual([]);
    expect(readdirSync(place.kept('origins'))).toEqual([]);
  });
});
