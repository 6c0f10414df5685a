import { CodeLines } from '../parts/code-lines.tsx';
import { Markdown } from '../parts/markdown.tsx';
import type { MessageItem } from '../view/types.ts';
import { UserMessage, type UserMessageProps } from './user-message.tsx';

interface MessageEntryProps {
  readonly item: MessageItem;
  readonly onEdit: UserMessageProps['onEdit'];
}

export function MessageEntry({ item, onEdit }: MessageEntryProps) {
  if (item.role === 'user') return <UserMessage item={item} onEdit={onEdit} />;
  if (item.role === 'assistant')
    return (
      <div aria-live="polite">
        <Markdown text={item.content} />
      </div>
    );
  return (
    <details className="reasoning">
      <summary>Note to the model</summary>
      <CodeLines text={item.content} label="Note to the model" />
    </details>
  );
}
