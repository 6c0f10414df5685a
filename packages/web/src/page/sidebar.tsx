import { useState } from 'react';
import { Icon } from '../parts/icons.tsx';
import { useNow } from '../parts/use-now.ts';
import { errorText, THREADS_PAGE, useSession } from '../state/session.ts';
import { useStore } from '../state/store.ts';
import { groupThreads } from '../view/thread-groups.ts';
import { Link } from './link.tsx';
import { ThreadRow } from './thread-row.tsx';
import { ThemeChoice } from './theme-choice.tsx';

/** The conversations. Those that wait for the user come first. */
export function Sidebar({ onSignOut }: { readonly onSignOut: () => void }) {
  return (
    <nav className="sidebar" aria-label="Conversations">
      <div className="sidebar-head">
        <Link to={{ page: 'new' }} className="brand">
          <img src="icon.svg" alt="" width="22" height="22" />
          Toolscript
        </Link>
      </div>
      <Link to={{ page: 'new' }} className="new-thread">
        <Icon name="plus" /> New conversation
      </Link>
      <SearchField />
      <ThreadList />
      <div className="sidebar-foot">
        <Link to={{ page: 'settings', section: 'agents' }} className="foot-link">
          <Icon name="settings" /> Settings
        </Link>
        <ThemeChoice />
        <button type="button" className="link" onClick={onSignOut}>
          Sign out
        </button>
      </div>
    </nav>
  );
}

function SearchField() {
  const { search, threads } = useSession();
  const [text, setText] = useState(search.value);
  return (
    <label className="search">
      <Icon name="search" />
      <input
        type="search"
        placeholder="Search"
        aria-label="Search the conversations"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          search.set(event.target.value);
          void threads.refresh();
        }}
      />
    </label>
  );
}

function ThreadList() {
  const { threads, approvals, router, search, shownThreads } = useSession();
  const { value: listing, error } = useStore(threads.store);
  const all = listing?.threads;
  const pending = useStore(approvals.store).value ?? [];
  const route = useStore(router.store);
  const words = useStore(search);
  const now = useNow(30_000);
  const waiting = new Set(pending.map(({ threadId }) => threadId));
  const groups = groupThreads(all ?? [], waiting, now);
  return (
    <div className="thread-list">
      {error !== undefined && (
        <p className="error-text" role="status">
          {errorText(error)}
        </p>
      )}
      {all !== undefined && all.length === 0 && (
        <p className="empty">{words.trim() === '' ? 'No conversations yet.' : 'Nothing found.'}</p>
      )}
      {groups.map(({ title, threads: group }) => (
        <section key={title} aria-label={title}>
          <h2>{title}</h2>
          <ul>
            {group.map((thread) => (
              <ThreadRow
                key={thread.threadId}
                thread={thread}
                isCurrent={route.page === 'thread' && route.threadId === thread.threadId}
                isWaiting={waiting.has(thread.threadId)}
                now={now}
              />
            ))}
          </ul>
        </section>
      ))}
      {listing?.hasMore === true && (
        <button
          type="button"
          className="link more-threads"
          onClick={() => {
            shownThreads.set(shownThreads.value + THREADS_PAGE);
            void threads.refresh();
          }}
        >
          Show earlier conversations
        </button>
      )}
    </div>
  );
}
