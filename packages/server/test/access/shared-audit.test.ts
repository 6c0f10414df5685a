import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { StoreUnavailableError } from '@toolscript/core/ports';
import { AuditFile, SharedAudit, type AuditTable, type ServiceAuditEntry } from '#server/access/index.js';
import { openDatabase } from '@toolscript/service/stores';
import { describeWithPostgres, newSchemaUrl } from '../../../service/test/stores/postgres/support/test-postgres.js';
import { newFolder } from '@toolscript/testkit/folder';

const entry = (callId: string, more: object = {}): ServiceAuditEntry =>
  ({ type: 'call_ended', at: '2026-01-01T00:00:00.000Z', tool: 'write', callId, ...more }) as never;

const callsOf = (entries: readonly ServiceAuditEntry[]) =>
  entries.map((one) => (one as unknown as { callId: string }).callId);

async function tableAt(url: string): Promise<AuditTable> {
  const database = await openDatabase(url);
  onTestFinished(() => database.close());
  return database.audit!;
}

/** The log of one machine. */
function machine(table: AuditTable, folder = newFolder()) {
  const faults: unknown[] = [];
  const file = new AuditFile(join(folder, 'audit.jsonl'));
  const audit = new SharedAudit({ file, table, onFault: (error) => faults.push(error) });
  onTestFinished(() => audit.close());
  return { audit, faults, folder };
}

async function exported(audit: SharedAudit, filter: Parameters<SharedAudit['export']>[0] = {}): Promise<string[]> {
  const entries: ServiceAuditEntry[] = [];
  for await (const one of audit.export(filter)) entries.push(one);
  return callsOf(entries);
}

describeWithPostgres('the audit log of several machines', () => {
  it('has the entries of all, each one once, newest first and page by page', async () => {
    const url = await newSchemaUrl();
    const [one, other] = [machine(await tableAt(url)), machine(await tableAt(url))];
    for (let count = 0; count < 250; count++) one.audit.append(entry(`a${count}`, { runId: `run_${count % 2}` }));
    await one.audit.list({});
    other.audit.append(entry('b'));
    const first = await other.audit.list({ limit: 2 });
    expect(callsOf(first.entries)).toEqual(['b', 'a249']);
    expect(callsOf((await one.audit.list({ limit: 2, after: first.next! })).entries)).toEqual(['a248', 'a247']);
    expect(callsOf((await one.audit.list({ runId: 'run_1', limit: 2 })).entries)).toEqual(['a249', 'a247']);
    expect(await one.audit.list({ runId: "'" })).toEqual({ entries: [] });
    expect(await exported(one.audit)).toEqual([...Array.from({ length: 250 }, (_, index) => `a${index}`), 'b']);
    expect([one.faults, other.faults]).toEqual([[], []]);
  });

  it('shows a principal only its own entries, and those without one to the local user', async () => {
    const { audit } = machine(await tableAt(await newSchemaUrl()));
    audit.append(entry('1', { principal: 'ada' }));
    audit.append(entry('2', { principal: 'ada\0b' }));
    audit.append(entry('3'));
    expect(callsOf((await audit.list({ principal: 'ada' })).entries)).toEqual(['1']);
    expect(callsOf((await audit.list({ principal: 'ada\0b' })).entries)).toEqual(['2']);
    expect(callsOf((await audit.list({ principal: 'local' })).entries)).toEqual(['3']);
    expect(await exported(audit, { principal: 'ada' })).toEqual(['1']);
  });

  it('takes entries while the database is away, reports it once, and the next process copies them', async () => {
    const table = await tableAt(await newSchemaUrl());
    const fault = new StoreUnavailableError('away');
    const away: AuditTable = { ...reject(fault), list: (query) => table.list(query) };
    const first = machine(away);
    for (const callId of ['1', '2', '3']) {
      first.audit.append(entry(callId));
      expect(await first.audit.list({})).toEqual({ entries: [] });
    }
    expect(first.faults).toEqual([fault]);
    await first.audit.close();
    const second = machine(table, first.folder);
    second.audit.append(entry('4'));
    expect(callsOf((await second.audit.list({})).entries)).toEqual(['4', '3', '2', '1']);
    // Two processes over one file copy each entry once.
    const third = machine(table, first.folder);
    expect(callsOf((await third.audit.list({})).entries)).toEqual(['4', '3', '2', '1']);
  });
});

function reject(fault: Error): Pick<AuditTable, 'known' | 'add'> {
  return { known: () => Promise.reject(fault), add: () => Promise.reject(fault) };
}
