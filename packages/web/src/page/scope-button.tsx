import { useState } from 'react';
import type { Thread } from '@toolscript/client';
import { Dialog } from '../parts/dialog.tsx';
import { useLoaded } from '../settings/use-loaded.ts';
import { errorText, useSession } from '../state/session.ts';
import { useStore } from '../state/store.ts';
import { visible } from '../view/visible.ts';

/** Shows what the next script of the conversation can use, if the scripts share their variables. */
export function ScopeButton({ thread }: { readonly thread: Thread }) {
  const [isOpen, setOpen] = useState(false);
  if (thread.scripts !== 'one-program') return null;
  return (
    <>
      <button type="button" className="pill files-button" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        In scope
      </button>
      {isOpen && <ScopeDialog threadId={thread.threadId} onClose={() => setOpen(false)} />}
    </>
  );
}

/** The names and types of the variables, without their values. They are read again after each change of the thread. */
function ScopeDialog({ threadId, onClose }: { readonly threadId: string; readonly onClose: () => void }) {
  const { client, threads } = useSession();
  const updatedAt = useStore(threads.store).value?.threads.find((listed) => listed.threadId === threadId)?.updatedAt;
  const { value, error } = useLoaded(() => client.threads.get(threadId), `${threadId} ${updatedAt}`);
  const scope = value?.scope ?? [];
  return (
    <Dialog title="In scope for the next script" onClose={onClose}>
      {error !== undefined && <p className="error-text">{errorText(error)}</p>}
      {value !== undefined && scope.length === 0 && (
        <p className="dim">No script of this conversation has left a variable yet.</p>
      )}
      <dl className="facts">
        {scope.map(({ name, type }) => (
          <div key={name}>
            <dt>
              <code>{visible(name)}</code>
            </dt>
            <dd>
              <code dir="auto">{visible(type)}</code>
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
