import { useState } from 'react';
import type { Client } from '@toolscript/client';
import { errorText, useSession } from '../state/session.ts';
import { useLoaded } from './use-loaded.ts';

const KINDS = [
  'decision',
  'approval',
  'call_started',
  'call_ended',
  'run_submitted',
  'run_cancelled',
  'script_cancelled',
  'thread_renamed',
  'thread_deleted',
  'file_deleted',
  'rule_deleted',
  'mcp_call',
  'key_added',
  'key_revoked',
  'undo',
] as const;

type Entry = Awaited<ReturnType<Client['audit']['list']>>['data'][number];

async function newestEntries(client: Client, pages: number) {
  const entries: Entry[] = [];
  let after: string | undefined;
  for (let page = 0; page < pages; page += 1) {
    const { data, next } = await client.audit.list({ limit: 100, ...(after === undefined ? {} : { after }) });
    entries.push(...data);
    after = next;
    if (after === undefined) break;
  }
  return { entries, hasMore: after !== undefined };
}

/** The newest entries of the audit log: calls with effects, and requests that changed something. */
export function AuditLog() {
  const { client } = useSession();
  const [kind, setKind] = useState('');
  const [words, setWords] = useState('');
  const [pages, setPages] = useState(1);
  const { value, error } = useLoaded(() => newestEntries(client, pages), String(pages));
  const { entries = [], hasMore = false } = value ?? {};
  const found = entries.filter(
    (entry) =>
      (kind === '' || entry.type === kind) && JSON.stringify(entry).toLowerCase().includes(words.trim().toLowerCase()),
  );
  return (
    <section aria-label="Audit log">
      <div className="filters">
        <label>
          <span className="dim">Kind</span>
          <select value={kind} onChange={(event) => setKind(event.target.value)}>
            <option value="">all</option>
            {KINDS.map((each) => (
              <option key={each} value={each}>
                {each.replace('_', ' ')}
              </option>
            ))}
          </select>
        </label>
        <input
          type="search"
          aria-label="Search the audit log"
          placeholder="Search"
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
      </div>
      {error !== undefined && <p className="error-text">{errorText(error)}</p>}
      <EntryTable entries={found} />
      {found.length === 0 && error === undefined && <p className="empty">No entries.</p>}
      {hasMore && (
        <button type="button" className="link" onClick={() => setPages(pages + 1)}>
          Show earlier entries
        </button>
      )}
    </section>
  );
}

function EntryTable({ entries }: { readonly entries: readonly Entry[] }) {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Entries">
      <table className="calls-table">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Kind</th>
            <th scope="col">Tool</th>
            <th scope="col">Decision</th>
            <th scope="col">By</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry, index) => (
            <tr key={index}>
              <td className="number">{new Date(entry.at).toLocaleString()}</td>
              <td>{entry.type.replace('_', ' ')}</td>
              <td>{entry.tool}</td>
              <td>{typeof entry['decision'] === 'string' ? entry['decision'] : ''}</td>
              <td>{entry.actor?.principal ?? entry.principal}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
