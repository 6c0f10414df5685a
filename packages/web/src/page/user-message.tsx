import { CodeLines } from '../parts/code-lines.tsx';
import { IconButton } from '../parts/icon-button.tsx';
import { filesIn } from '../view/attached-files.ts';
import { plural } from '../view/format.ts';
import type { MessageItem } from '../view/types.ts';
import type { Attachment } from './attachments.tsx';

export interface UserMessageProps {
  readonly item: MessageItem;
  readonly onEdit: (text: string, attachments: readonly Attachment[]) => void;
}

export function UserMessage({ item, onEdit }: UserMessageProps) {
  const { prompt, files } = filesIn(item.content);
  const images = item.images?.length ?? 0;
  return (
    <div className="user-message">
      <IconButton
        icon="edit"
        label="Edit and send again"
        onClick={() => onEdit(prompt, [...files, ...messageImages(item)])}
      />
      <div className="bubble" dir="auto">
        {prompt}
        {images > 0 && <span className="tag">{plural(images, 'image')}</span>}
        {files.map(({ name, text }, index) => (
          <details key={index} className="attached-file">
            <summary>{name}</summary>
            <CodeLines text={text} label={name} />
          </details>
        ))}
      </div>
    </div>
  );
}

/** The images whose bytes are in the message. */
function messageImages({ images = [] }: MessageItem): Attachment[] {
  return images.flatMap(({ media_type: mediaType, data }, index) =>
    data === undefined ? [] : [{ name: `image ${index + 1}`, mediaType, data }],
  );
}
