import { useState } from 'react';
import type { ThreadSummary } from '@toolscript/client';
import { Dialog } from '../parts/dialog.tsx';
import { useLoaded } from '../settings/use-loaded.ts';
import { errorText, useSession } from '../state/session.ts';
import { useStore } from '../state/store.ts';
import { listedState, STAGE_TEXTS, type RunStage } from '../view/conversation-state.ts';
import { Link } from './link.tsx';

/** The states of a filter, as the server names them. */
const FILTERS = { waiting: 'suspended', working: 'running', queued: 'queued', failed: 'failed' } as const;
const STAGES: readonly (Filter | undefined)[] = [undefined, 'waiting', 'working', 'queued', 'failed'];
const MAX_FOUND = 50;

type Filter = keyof typeof FILTERS;
type FoundThread = ThreadSummary & { readonly stage: RunStage };

/** Finds conversations by their titles, prompts, answers and names of files, and by their state. */
export default function Finder({ onClose }: { readonly onClose: () => void }) {
  const { router } = useSession();
  const [text, setText] = useState('');
  const [filter, setFilter] = useState<Filter>();
  const { found, hasMore, error } = useFoundThreads(text.trim(), filter);
  const openFirst = () => {
    const first = found?.[0];
    if (first === undefined) return;
    router.go({ page: 'thread', threadId: first.threadId });
    onClose();
  };
  return (
    <Dialog title="Find a conversation" onClose={onClose} className="finder">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          openFirst();
        }}
      >
        <input
          type="search"
          aria-label="Words of a title, prompt, answer or file name"
          placeholder="Title, prompt, answer or file name"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </form>
      <Filters current={filter} onSelect={setFilter} />
      {error !== undefined && <p className="error-text">{errorText(error)}</p>}
      {found?.length === 0 && <p className="empty">Nothing found.</p>}
      <ul aria-label="Conversations found">
        {found?.map((thread) => (
          <FoundRow key={thread.threadId} thread={thread} onOpen={onClose} />
        ))}
      </ul>
      {hasMore && <p className="empty">More words find fewer.</p>}
    </Dialog>
  );
}

function useFoundThreads(words: string, filter: Filter | undefined) {
  const { client, approvals, threads } = useSession();
  // Read again after each change of a conversation.
  const changedAt = useStore(threads.store).value?.threads[0]?.updatedAt;
  const state = filter && FILTERS[filter];
  const load = () =>
    client.threads.list({ limit: MAX_FOUND, ...(words === '' ? {} : { text: words }), ...(state && { state }) });
  const { value, error } = useLoaded(load, `${state} ${changedAt} ${words}`);
  const waiting = new Set((useStore(approvals.store).value ?? []).map(({ threadId }) => threadId));
  const found = value?.data.map((thread): FoundThread => ({
    ...thread,
    stage: listedState(thread, waiting.has(thread.threadId)) ?? 'done',
  }));
  return { found, hasMore: value?.next !== undefined, error };
}

interface FiltersProps {
  readonly current: Filter | undefined;
  readonly onSelect: (filter: Filter | undefined) => void;
}

function Filters({ current, onSelect }: FiltersProps) {
  return (
    <div className="finder-filters" role="group" aria-label="State">
      {STAGES.map((filter) => (
        <button
          key={filter ?? 'all'}
          type="button"
          className="pill"
          aria-pressed={filter === current}
          onClick={() => onSelect(filter)}
        >
          {filter === undefined ? 'All' : STAGE_TEXTS[filter]}
        </button>
      ))}
    </div>
  );
}

function FoundRow({ thread, onOpen }: { readonly thread: FoundThread; readonly onOpen: () => void }) {
  const { threadId, title, stage } = thread;
  return (
    <li onClick={onOpen}>
      <Link to={{ page: 'thread', threadId }}>
        <span className="dot" data-status={stage} /> <span dir="auto">{title === '' ? 'Untitled' : title}</span>
      </Link>
      {stage !== 'done' && <span className="dim"> {STAGE_TEXTS[stage]}</span>}
    </li>
  );
}
