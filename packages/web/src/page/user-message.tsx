import { use, useState, type MouseEvent } from 'react';
import { CodeLines } from '../parts/code-lines.tsx';
import { IconButton } from '../parts/icon-button.tsx';
import { RunIdContext } from '../state/selection.ts';
import { filesIn } from '../view/attached-files.ts';
import { plural } from '../view/format.ts';
import type { MessageItem } from '../view/types.ts';
import type { Attachment } from './attachments.tsx';
import { CopyLink } from './copy-link.tsx';

export interface UserMessageProps {
  readonly item: MessageItem;
  /** Copies the message into the field. Undefined: the message has no such button. */
  readonly onEdit?: ((text: string, attachments: readonly Attachment[]) => void) | undefined;
}

export function UserMessage({ item, onEdit }: UserMessageProps) {
  const { prompt, files } = filesIn(item.content);
  const images = item.images?.length ?? 0;
  return (
    <div className="user-message">
      <CopyLink runId={use(RunIdContext)} />
      {onEdit !== undefined && (
        <IconButton
          icon="edit"
          label="Edit and send again"
          onClick={() => onEdit(prompt, [...files, ...messageAttachments(item)])}
        />
      )}
      <div className="bubble" dir="auto">
        {prompt}
        {images > 0 && <span className="tag">{plural(images, 'image')}</span>}
        {item.files?.map(({ name }, index) => (
          <span key={index} className="tag">
            {name}
          </span>
        ))}
        {files.map(({ name, text }, index) => (
          <AttachedFile key={index} id={`${item.id} ${index}`} name={name} text={text} />
        ))}
      </div>
    </div>
  );
}

/** The files that the user has opened: a message stays open when it leaves the queue. */
const openFiles = new Set<string>();

interface AttachedFileProps {
  readonly id: string;
  readonly name: string;
  readonly text: string;
}

function AttachedFile({ id, name, text }: AttachedFileProps) {
  const [isOpen, setOpen] = useState(openFiles.has(id));
  const toggle = (event: MouseEvent) => {
    event.preventDefault();
    if (isOpen) openFiles.delete(id);
    else openFiles.add(id);
    setOpen(!isOpen);
  };
  return (
    <details open={isOpen} className="attached-file">
      <summary onClick={toggle}>{name}</summary>
      <CodeLines text={text} label={name} />
    </details>
  );
}

/** The images, PDFs and recordings whose bytes are in the message. */
export function messageAttachments({ images = [], files = [] }: MessageItem): Attachment[] {
  const shown = images.flatMap(({ media_type: mediaType, data }, index) =>
    data === undefined ? [] : [{ name: `image ${index + 1}`, mediaType, data }],
  );
  return [...shown, ...files.map(({ name, media_type: mediaType, data }) => ({ name, mediaType, data }))];
}
