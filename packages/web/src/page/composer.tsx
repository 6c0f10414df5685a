import { useEffect, useRef, useState } from 'react';
import { IconButton } from '../parts/icon-button.tsx';
import { IMAGE_TYPES } from '../view/table.ts';

interface AttachedImage {
  readonly name: string;
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
  /** Base64. */
  readonly data: string;
}

export interface Prompt {
  readonly text: string;
  readonly images: readonly AttachedImage[];
}

interface ComposerProps {
  /** Resolves with whether it was sent: then the field is emptied. */
  readonly onSend: (prompt: Prompt) => Promise<boolean>;
  /** Shown while a run is active. */
  readonly onStop?: (() => void) | undefined;
  readonly placeholder: string;
  readonly autoFocus?: boolean;
  /** Text to put into the field, such as an earlier prompt. A new object puts it again. */
  readonly draft?: { readonly text: string } | undefined;
}

const MAX_IMAGES = 8;

/** The field for prompts. Enter sends, Shift-Enter begins a new line. */
export function Composer({ onSend, onStop, placeholder, autoFocus = false, draft }: ComposerProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const { text, setText, images, setImages, attach, isSending, send } = usePrompt(onSend);
  useEffect(() => {
    if (draft === undefined) return;
    setText(draft.text);
    field.current?.focus();
  }, [draft, setText]);
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void attach(event.dataTransfer.files);
      }}
    >
      <Attachments images={images} onRemove={(index) => setImages(images.filter((_, other) => other !== index))} />
      <textarea
        ref={field}
        rows={1}
        value={text}
        autoFocus={autoFocus}
        placeholder={placeholder}
        aria-label="Prompt"
        onChange={(event) => setText(event.target.value)}
        onPaste={(event) => void attach(event.clipboardData.files)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          void send();
        }}
      />
      <div className="composer-buttons">
        <AttachButton onFiles={(files) => void attach(files)} />
        <span className="space" />
        <span className="dim composer-hint">Enter to send</span>
        {onStop !== undefined && <IconButton icon="stop" label="Stop" className="stop" onClick={onStop} />}
        <IconButton
          icon="send"
          label="Send"
          type="submit"
          className="send"
          disabled={text.trim() === '' || isSending}
        />
      </div>
    </form>
  );
}

function usePrompt(onSend: ComposerProps['onSend']) {
  const [text, setText] = useState('');
  const [images, setImages] = useState<readonly AttachedImage[]>([]);
  const [isSending, setSending] = useState(false);
  const send = async () => {
    if (text.trim() === '' || isSending) return;
    setSending(true);
    const isSent = await onSend({ text, images });
    setSending(false);
    if (!isSent) return;
    setText('');
    setImages([]);
  };
  const attach = async (files: Iterable<File>) => {
    const added = await Promise.all([...files].filter(({ type }) => IMAGE_TYPES.includes(type)).map(readImage));
    setImages((before) => [...before, ...added].slice(0, MAX_IMAGES));
  };
  return { text, setText, images, setImages, attach, isSending, send };
}

function AttachButton({ onFiles }: { readonly onFiles: (files: FileList) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton icon="attach" label="Attach images" onClick={() => input.current?.click()} />
      <input
        ref={input}
        type="file"
        hidden
        multiple
        accept={IMAGE_TYPES.join(',')}
        onChange={(event) => {
          if (event.target.files !== null) onFiles(event.target.files);
          event.target.value = '';
        }}
      />
    </>
  );
}

interface AttachmentsProps {
  readonly images: readonly AttachedImage[];
  readonly onRemove: (index: number) => void;
}

function Attachments({ images, onRemove }: AttachmentsProps) {
  if (images.length === 0) return null;
  return (
    <ul className="attachments" aria-label="Attached images">
      {images.map(({ name, mediaType, data }, index) => (
        <li key={index}>
          <img src={`data:${mediaType};base64,${data}`} alt={name} />
          <IconButton icon="close" label={`Remove ${name}`} onClick={() => onRemove(index)} />
        </li>
      ))}
    </ul>
  );
}

function readImage(file: File): Promise<AttachedImage> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('error', () => reject(new Error(`${file.name} cannot be read.`)));
    reader.addEventListener('load', () => {
      const data = String(reader.result).replace(/^[^,]*,/u, '');
      resolve({ name: file.name, mediaType: file.type as AttachedImage['mediaType'], data });
    });
    reader.readAsDataURL(file);
  });
}
