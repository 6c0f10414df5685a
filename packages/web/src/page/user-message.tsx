import { IconButton } from '../parts/icon-button.tsx';
import { plural } from '../view/format.ts';
import type { MessageItem } from '../view/types.ts';

interface UserMessageProps {
  readonly item: MessageItem;
  readonly onEdit: (text: string) => void;
}

export function UserMessage({ item, onEdit }: UserMessageProps) {
  const images = item.images?.length ?? 0;
  return (
    <div className="user-message">
      <IconButton icon="edit" label="Edit and send again" onClick={() => onEdit(item.content)} />
      <div className="bubble">
        {item.content}
        {images > 0 && <span className="tag">{plural(images, 'image')}</span>}
      </div>
    </div>
  );
}
