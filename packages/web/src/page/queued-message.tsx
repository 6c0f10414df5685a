import { filesIn } from '../view/attached-files.ts';
import type { MessageItem } from '../view/types.ts';
import { messageAttachments, UserMessage } from './user-message.tsx';
import type { Prompt } from './prompt.ts';

interface QueuedMessageProps {
  readonly items: readonly MessageItem[];
  /** Removes the message from the queue. */
  readonly onRemove: () => void;
  /** Stops the run that works, so that this message is next. Undefined if another message is before this one. */
  readonly onSendNow: (() => void) | undefined;
  /** Takes the message back into the field. */
  readonly onEdit: (prompt: Prompt) => void;
}

/** The messages of a run that waits until another run of its conversation ends. */
export function QueuedMessage({ items, onRemove, onSendNow, onEdit }: QueuedMessageProps) {
  const edit = () => {
    onRemove();
    onEdit(queuedPrompt(items));
  };
  return (
    <section className="queued-message" aria-label="Queued message">
      {items.map((item) => (
        <UserMessage key={item.id} item={item} />
      ))}
      <p className="queued-buttons">
        <span className="dim">Queued</span>
        <button type="button" className="link" onClick={edit}>
          Edit
        </button>
        <button type="button" className="link" onClick={onRemove}>
          Remove
        </button>
        {onSendNow !== undefined && (
          <button type="button" className="link" onClick={onSendNow}>
            Send now
          </button>
        )}
      </p>
    </section>
  );
}

function queuedPrompt(items: readonly MessageItem[]): Prompt {
  const parts = items.map((item) => ({ ...filesIn(item.content), attached: messageAttachments(item) }));
  return {
    text: parts.map(({ prompt }) => prompt).join('\n\n'),
    attachments: parts.flatMap(({ files, attached }) => [...files, ...attached]),
  };
}
