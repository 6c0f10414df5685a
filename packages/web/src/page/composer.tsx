import { useEffect, useRef, useState } from 'react';
import { IconButton } from '../parts/icon-button.tsx';
import { useSession } from '../state/session.ts';
import { AttachButton, attachFiles, AttachmentList, type Attachment } from './attachments.tsx';

export interface Prompt {
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** The turn of an earlier message that this prompt replaces in a new branch. */
  readonly branchBefore?: string | undefined;
}

interface ComposerProps {
  /** Resolves to true if the prompt was sent. The field is then cleared. */
  readonly onSend: (prompt: Prompt) => Promise<boolean>;
  /** Stops the active run. Undefined if no run is active. */
  readonly onStop?: (() => void) | undefined;
  readonly placeholder: string;
  readonly autoFocus?: boolean;
  /** Replaces the prompt in the field, for example with an earlier prompt. Each new object replaces the prompt once. */
  readonly draft?: Prompt | undefined;
}

const EMPTY: Prompt = { text: '', attachments: [] };

/** The field for prompts. Enter sends the prompt, and Shift-Enter begins a new line. */
export function Composer({ onSend, onStop, placeholder, autoFocus = false, draft }: ComposerProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const { prompt, setPrompt, attach, isSending, send } = usePrompt(onSend);
  const { text, attachments, branchBefore } = prompt;
  useEffect(() => {
    if (draft === undefined) return;
    setPrompt(draft);
    field.current?.focus();
  }, [draft, setPrompt]);
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
      {branchBefore !== undefined && <BranchNote onCancel={() => setPrompt(EMPTY)} />}
      <AttachmentList
        attachments={attachments}
        onRemove={(index) => setPrompt({ ...prompt, attachments: attachments.filter((_, other) => other !== index) })}
      />
      <textarea
        ref={field}
        rows={1}
        value={text}
        autoFocus={autoFocus}
        placeholder={placeholder}
        aria-label="Prompt"
        onChange={(event) => setPrompt({ ...prompt, text: event.target.value })}
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
  const { notice } = useSession();
  const [prompt, setPrompt] = useState(EMPTY);
  const [isSending, setSending] = useState(false);
  const send = async () => {
    if (prompt.text.trim() === '' || isSending) return;
    setSending(true);
    const isSent = await onSend(prompt);
    setSending(false);
    // The user may have typed meanwhile.
    if (isSent) setPrompt((now) => (now === prompt ? EMPTY : now));
  };
  const attach = async (files: Iterable<File>) => {
    const { attachments, problems } = await attachFiles(prompt.attachments, files);
    setPrompt((before) => ({ ...before, attachments }));
    if (problems.length > 0) notice.set(problems.join(' '));
  };
  return { prompt, setPrompt, attach, isSending, send };
}

function BranchNote({ onCancel }: { readonly onCancel: () => void }) {
  return (
    <p className="branch-note dim">
      You edit an earlier message. The edited message starts a new branch; this conversation stays as it is.
      <button type="button" className="link" onClick={onCancel}>
        Cancel
      </button>
    </p>
  );
}
