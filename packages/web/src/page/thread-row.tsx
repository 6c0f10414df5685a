import { useState } from 'react';
import * as Menu from '@radix-ui/react-dropdown-menu';
import type { ThreadSummary } from '@toolscript/client';
import { threadMarkdown } from '@toolscript/core/stream';
import { ConfirmDialog } from '../parts/confirm-dialog.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Icon } from '../parts/icons.tsx';
import { saveFile } from '../parts/save-file.ts';
import { errorText, useSession } from '../state/session.ts';
import { age } from '../view/format.ts';
import { listedState, STAGE_TEXTS } from '../view/conversation-state.ts';
import { Link } from './link.tsx';

interface ThreadRowProps {
  readonly thread: ThreadSummary;
  readonly isCurrent: boolean;
  readonly isWaiting: boolean;
  /** The current time, in ms since 1970. */
  readonly now: number;
}

export function ThreadRow({ thread, isCurrent, isWaiting, now }: ThreadRowProps) {
  const [dialog, setDialog] = useState<'rename' | 'delete'>();
  const { threadId, title, updatedAt } = thread;
  const stage = listedState(thread, isWaiting) ?? 'done';
  return (
    <li className="thread-row" data-current={isCurrent || undefined}>
      <Link to={{ page: 'thread', threadId }} aria-current={isCurrent ? 'page' : undefined}>
        <span className="dot" data-status={stage} />
        <span className="thread-title" dir="auto">
          {title === '' ? 'Untitled' : title}
        </span>
        {stage === 'failed' && <span className="thread-failed">failed</span>}
        {stage !== 'failed' && stage !== 'done' && <span className="hidden">{STAGE_TEXTS[stage]}</span>}
        <span className="thread-age">{age(updatedAt, now)}</span>
      </Link>
      <ThreadMenu thread={thread} onChoose={setDialog} />
      {dialog === 'rename' && <RenameDialog thread={thread} onClose={() => setDialog(undefined)} />}
      {dialog === 'delete' && (
        <DeleteDialog thread={thread} isCurrent={isCurrent} onClose={() => setDialog(undefined)} />
      )}
    </li>
  );
}

interface ThreadMenuProps {
  readonly thread: ThreadSummary;
  readonly onChoose: (dialog: 'rename' | 'delete') => void;
}

function ThreadMenu({ thread, onChoose }: ThreadMenuProps) {
  const session = useSession();
  const save = async (format: 'md' | 'json') => {
    try {
      const whole = await session.client.threads.get(thread.threadId, { operations: 'full' });
      const text = format === 'md' ? threadMarkdown(whole, whole.items) : JSON.stringify(whole, null, 2);
      saveFile(`${fileName(whole.title)}.${format}`, text);
    } catch (error) {
      session.notice.set(errorText(error));
    }
  };
  const copyLink = async () => {
    const path = session.router.address({ page: 'thread', threadId: thread.threadId });
    await navigator.clipboard.writeText(location.origin + path).catch(() => undefined);
    session.notice.set('The link was copied.');
  };
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger className="icon-button thread-menu" aria-label={`Actions for ${thread.title}`}>
        <Icon name="more" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Content className="menu" align="end" sideOffset={4}>
          <Menu.Item onSelect={() => onChoose('rename')}>Rename…</Menu.Item>
          <Menu.Item onSelect={() => void copyLink()}>Copy a link</Menu.Item>
          <Menu.Item onSelect={() => void save('md')}>Export as Markdown</Menu.Item>
          <Menu.Item onSelect={() => void save('json')}>Export as JSON</Menu.Item>
          <Menu.Separator />
          <Menu.Item className="danger-text" onSelect={() => onChoose('delete')}>
            Delete…
          </Menu.Item>
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  );
}

function RenameDialog({ thread, onClose }: { readonly thread: ThreadSummary; readonly onClose: () => void }) {
  const { client, threads, notice } = useSession();
  const [title, setTitle] = useState(thread.title);
  const rename = async () => {
    try {
      await client.threads.rename(thread.threadId, title.trim());
      await threads.refresh();
    } catch (error) {
      notice.set(errorText(error));
    }
    onClose();
  };
  return (
    <Dialog title="Rename the conversation" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void rename();
        }}
      >
        <label className="field">
          Title
          <input value={title} maxLength={1000} onChange={(event) => setTitle(event.target.value)} />
        </label>
        <div className="dialog-buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={title.trim() === ''}>
            Rename
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface DeleteDialogProps {
  readonly thread: ThreadSummary;
  readonly isCurrent: boolean;
  readonly onClose: () => void;
}

function DeleteDialog({ thread, isCurrent, onClose }: DeleteDialogProps) {
  const { client, threads, approvals, router } = useSession();
  const remove = async () => {
    await client.threads.delete(thread.threadId);
    if (isCurrent) router.go({ page: 'new' });
    await Promise.all([threads.refresh(), approvals.refresh()]);
  };
  return (
    <ConfirmDialog title="Delete the conversation?" action="Delete" onConfirm={remove} onClose={onClose}>
      <p>“{thread.title}” will be deleted with all its scripts and results. Its runs will be stopped.</p>
    </ConfirmDialog>
  );
}

function fileName(title: string): string {
  const name = title
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .slice(0, 60);
  return name === '' ? 'conversation' : name;
}
