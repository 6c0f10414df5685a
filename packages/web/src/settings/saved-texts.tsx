import { useState } from 'react';
import type { Saved, SavedKind, SavedOwner } from '@toolscript/client';
import { CodeLines } from '../parts/code-lines.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { ConfirmDialog } from '../parts/confirm-dialog.tsx';
import { useNow } from '../parts/use-now.ts';
import { errorText, useSession } from '../state/session.ts';
import { useStore } from '../state/store.ts';
import { age, bytes } from '../view/format.ts';
import { visible } from '../view/visible.ts';
import { useLoaded } from './use-loaded.ts';

const KINDS = { prompt: 'Prompts', snippet: 'Scripts' } as const;
const ADVICE = {
  prompt: 'Ask an agent to save a prompt.',
  snippet: 'Ask an agent to save a script that works.',
} as const;
const MOST = 500;

/** The prompts and scripts that scripts have saved: of the user, of the workspace, or of a conversation. */
export function SavedTexts() {
  const { threads } = useSession();
  const [kind, setKind] = useState<SavedKind>('prompt');
  const [place, setPlace] = useState('principal');
  const owner: SavedOwner =
    place === 'principal' || place === 'workspace' ? { scope: place } : { scope: 'thread', threadId: place };
  const listed = useStore(threads.store).value?.threads ?? [];
  return (
    <section aria-label="Saved prompts and scripts">
      <div className="filters">
        <label>
          <span className="dim">Show</span>
          <select value={kind} onChange={(event) => setKind(event.target.value as SavedKind)}>
            {Object.entries(KINDS).map(([id, title]) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span className="dim">of</span>
          <select value={place} onChange={(event) => setPlace(event.target.value)}>
            <option value="principal">you</option>
            <option value="workspace">the workspace</option>
            <optgroup label="A conversation">
              {listed.map(({ threadId, title }) => (
                <option key={threadId} value={threadId}>
                  {title === '' ? 'Untitled' : title}
                </option>
              ))}
            </optgroup>
          </select>
        </label>
      </div>
      <SavedList key={`${kind} ${place}`} kind={kind} owner={owner} />
    </section>
  );
}

interface SavedListProps {
  readonly kind: SavedKind;
  readonly owner: SavedOwner;
}

function SavedList({ kind, owner }: SavedListProps) {
  const { client } = useSession();
  const [version, setVersion] = useState(0);
  const { value, error } = useLoaded(() => client.saved.list(kind, { ...owner, limit: MOST }), String(version));
  const found = value?.data;
  return (
    <>
      {error !== undefined && <p className="error-text">{errorText(error)}</p>}
      {found?.length === 0 && <p className="empty">Nothing is saved here. {ADVICE[kind]}</p>}
      {found?.map((saved) => (
        <SavedEntry
          key={saved.name}
          kind={kind}
          owner={owner}
          saved={saved}
          onDeleted={() => setVersion((before) => before + 1)}
        />
      ))}
      {value?.next !== undefined && <p className="dim">Only the first {MOST} are shown.</p>}
    </>
  );
}

interface SavedEntryProps extends SavedListProps {
  readonly saved: Saved;
  readonly onDeleted: () => void;
}

function SavedEntry({ kind, owner, saved, onDeleted }: SavedEntryProps) {
  const [isOpen, setOpen] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const now = useNow(60_000);
  const name = visible(saved.name);
  return (
    <details className="card call-entry" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <code>{name}</code>
        <span className="cut dim" dir="auto">
          {visible(saved.description ?? '')}
        </span>
        <span className="dim">
          Version {saved.version} · {bytes(saved.bytes)} · {age(saved.createdAt, now)}
        </span>
      </summary>
      {isOpen && <SavedText kind={kind} owner={owner} saved={saved} />}
      <p>
        <button type="button" className="link" aria-label={`Delete ${name}`} onClick={() => setDeleting(true)}>
          Delete…
        </button>
      </p>
      {isDeleting && (
        <DeleteSaved kind={kind} owner={owner} saved={saved} onDeleted={onDeleted} onClose={() => setDeleting(false)} />
      )}
    </details>
  );
}

function SavedText({ kind, owner, saved }: Omit<SavedEntryProps, 'onDeleted'>) {
  const { client, continuedPrompt, router } = useSession();
  const { value, error } = useLoaded(() => client.saved.get(kind, saved.name, owner), saved.name);
  if (error !== undefined) return <p className="error-text">{errorText(error)}</p>;
  if (value === undefined) return null;
  const use = () => {
    continuedPrompt.set({ text: kind === 'prompt' ? value.text : runPrompt(saved), attachments: [] });
    router.go({ page: 'new' });
  };
  return (
    <>
      <CodeLines text={value.text} label={KINDS[kind]} isScript={kind === 'snippet'} />
      {saved.input !== undefined && (
        <>
          <h4>{kind === 'prompt' ? 'Variables' : 'Input'}</h4>
          <CodeLines text={JSON.stringify(saved.input, null, 2)} label="Schema" isScript />
        </>
      )}
      <div className="file-actions">
        <button type="button" onClick={use}>
          {kind === 'prompt' ? 'Insert into a new conversation' : 'Run in a new conversation…'}
        </button>
        <CopyButton text={value.text} label="Copy the text" />
      </div>
    </>
  );
}

/** A prompt that runs the script, with a place for each member of its input. */
function runPrompt({ name, input }: Saved): string {
  const members = Object.keys((input?.['properties'] ?? {}) as object).map((member) => `${member}: …`);
  return `Run the saved script ${name}${members.length === 0 ? '.' : ` with ${members.join(', ')}`}`;
}

interface DeleteSavedProps extends SavedEntryProps {
  readonly onClose: () => void;
}

function DeleteSaved({ kind, owner, saved, onDeleted, onClose }: DeleteSavedProps) {
  const { client } = useSession();
  const title = kind === 'prompt' ? 'Delete the prompt?' : 'Delete the script?';
  const remove = () => client.saved.delete(kind, saved.name, owner);
  return (
    <ConfirmDialog title={title} action="Delete" onConfirm={remove} onClose={onClose} onEnd={onDeleted}>
      <p dir="auto">{visible(saved.name)} will be deleted with all its versions. Scripts can then no longer use it.</p>
    </ConfirmDialog>
  );
}
