import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AuditEntry } from '@toolscript/core';
import { describe, expect, it } from 'vitest';
import { AuditFile, memoryAudit, type AuditStore, type ServiceAuditEntry } from '#server/access/index.js';
import { newFolder } from '@toolscript/testkit/folder';

const ENTRY = { type: 'call_started' } as unknown as AuditEntry;

describe.skipIf(process.platform === 'win32')('the audit log (skipped on Windows, which opens links)', () => {
  it('is never written through a link, whether its target exists or not', () => {
    const folder = newFolder();
    const target = join(folder, 'target');
    const path = join(folder, 'audit.jsonl');
    symlinkSync(target, path);
    expect(() => new AuditFile(path).append(ENTRY)).toThrow('ELOOP');
    expect(existsSync(target)).toBe(false);
    writeFileSync(target, 'mine');
    expect(() => new AuditFile(path).append(ENTRY)).toThrow('ELOOP');
    expect(readFileSync(target, 'utf8')).toBe('mine');
  });

  it('is never written to a device, which would lose its entries', () => {
    expect(() => new AuditFile('/dev/null').append(ENTRY)).toThrow('is not a regular file');
  });

  it('is appended to, with access for the user alone', () => {
    const path = join(newFolder(), 'kept', 'audit.jsonl');
    for (let count = 0; count < 2; count++) {
      const file = new AuditFile(path);
      file.append(ENTRY);
      file.close();
    }
    expect(readFileSync(path, 'utf8')).toBe(`${JSON.stringify(ENTRY)}\n`.repeat(2));
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });
});

function entry(number: number, more: object = {}): ServiceAuditEntry {
  const ids = { callId: `call_${number}`, threadId: `thr_${number % 3}`, tool: 'write' };
  return { type: 'call_ended', at: '2026-01-01T00:00:00.000Z', ...ids, ...more } as unknown as ServiceAuditEntry;
}

function callOf(entry: ServiceAuditEntry): string {
  return (entry as unknown as { callId: string }).callId;
}

async function pages(audit: AuditStore, query: Parameters<AuditStore['list']>[0]): Promise<string[][]> {
  const found: string[][] = [];
  for (let after: string | undefined; ;) {
    const page = await audit.list({ ...query, ...(after === undefined ? {} : { after }) });
    found.push(page.entries.map(callOf));
    if (page.next === undefined) return found;
    after = page.next;
  }
}

async function exported(audit: AuditStore, filter: Parameters<AuditStore['export']>[0]): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of audit.export(filter)) found.push(callOf(entry));
  return found;
}

describe.each([
  ['a file', () => new AuditFile(join(newFolder(), 'audit.jsonl'))],
  ['memory', () => memoryAudit()],
])('an audit log in %s', (_name, open) => {
  it('is empty before its first entry', async () => {
    const audit = open();
    expect(await audit.list({})).toEqual({ entries: [] });
    expect(await exported(audit, {})).toEqual([]);
  });

  it('lists the newest first, in pages that miss and repeat no entry while others are added', async () => {
    const audit = open();
    for (let number = 0; number < 5; number += 1) audit.append(entry(number));
    const { entries, next } = await audit.list({ limit: 2 });
    expect(entries).toEqual([entry(4), entry(3)]);
    audit.append(entry(5));
    expect(await pages(audit, { limit: 2, after: next! })).toEqual([['call_2', 'call_1'], ['call_0']]);
  });

  it('exports all, oldest first', async () => {
    const audit = open();
    for (let number = 0; number < 5; number += 1) audit.append(entry(number));
    expect(await exported(audit, {})).toEqual(['call_0', 'call_1', 'call_2', 'call_3', 'call_4']);
  });

  it('shows entries of one principal; the machine’s user has none', async () => {
    const audit = open();
    for (const [number, principal] of ['ada', 'bob', undefined, 'ada'].entries())
      audit.append(entry(number, principal === undefined ? {} : { principal }));
    expect(await pages(audit, { principal: 'ada', limit: 1 })).toEqual([['call_3'], ['call_0']]);
    expect(await exported(audit, { principal: 'ada' })).toEqual(['call_0', 'call_3']);
    expect(await exported(audit, { principal: 'local' })).toEqual(['call_2']);
    expect(await exported(audit, { principal: 'ad' })).toEqual([]);
    expect(await exported(audit, { principal: 'ada', threadId: 'thr_0', runId: 'run_1' })).toEqual([]);
  });

  it('refuses a cursor of another list', async () => {
    await expect(async () => open().list({ after: 'thread.1' })).rejects.toThrow('is not a cursor of this list');
  });
});

describe('an audit file', () => {
  it('is read backwards over blocks, lines of any length, and a truncated line', async () => {
    const path = join(newFolder(), 'audit.jsonl');
    const audit = new AuditFile(path);
    const sizes = [0, 300_000, 1, 262_143, 262_144, 600_000, 10, 90_000];
    for (const [number, size] of sizes.entries()) audit.append(entry(number, { text: 'ü'.repeat(size) }));
    writeFileSync(path, '{"type":"call_', { flag: 'a' });
    const all = sizes.map((_size, number) => `call_${number}`);
    for (const limit of [1, 3, 100])
      expect((await pages(audit, { limit })).flat(), `${limit}`).toEqual(all.toReversed());
    expect(await exported(audit, {})).toEqual(all);
    const { entries } = await audit.list({ limit: 8 });
    expect(entries.map((one) => (one as unknown as { text: string }).text.length)).toEqual(sizes.toReversed());
  });

  it('searches 8 MB for one page, and reports that there may be more', async () => {
    const audit = new AuditFile(join(newFolder(), 'audit.jsonl'));
    audit.append(entry(0, { principal: 'ada' }));
    for (let number = 1; number <= 10; number += 1) audit.append(entry(number, { text: 'x'.repeat(1_000_000) }));
    const first = await audit.list({ principal: 'ada' });
    expect(first).toEqual({ entries: [], next: expect.any(String) });
    expect((await pages(audit, { principal: 'ada' })).flat()).toEqual(['call_0']);
  });

  it('contains no API key and no named secret', async () => {
    const path = join(newFolder(), 'audit.jsonl');
    const audit = new AuditFile(path, { secrets: ['the "local" token'] });
    const key = `tsk_${'0'.repeat(16)}_${'a'.repeat(43)}`;
    audit.append(
      entry(0, { input: { one: key, two: 'Authorization: Bearer abcdefgh1234', three: 'the "local" token' } }),
    );
    expect(readFileSync(path, 'utf8')).not.toMatch(/tsk_|abcdefgh|token/u);
    expect((await audit.list({})).entries).toEqual([
      entry(0, { input: { one: '[redacted]', two: 'Authorization: Bearer [redacted]', three: '[redacted]' } }),
    ]);
  });
});
