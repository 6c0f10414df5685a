import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react';
import { IconButton } from '../parts/icon-button.tsx';
import { useSession } from '../state/session.ts';
import { AttachButton, attachFiles, AttachmentList } from './attachments.tsx';
import type { Prompt } from './prompt.ts';

interface ComposerProps {
  /** Resolves to true if the prompt was sent. The field is then cleared. */
  readonly onSend: (prompt: Prompt) => Promise<boolean>;
  /** Stops the active run. Undefined if no run is active. */
  readonly onStop?: (() => void) | undefined;
  readonly placeholder: string;
  readonly autoFocus?: boolean | undefined;
  /** Replaces the prompt in the field, for example with an earlier prompt. Each new object replaces the prompt once. */
  readonly draft?: Prompt | undefined;
}

const EMPTY: Prompt = { text: '', attachments: [] };

/** The field for prompts. Enter sends the prompt, and Shift-Enter begins a new line. */
export function Composer({ onSend, onStop, placeholder, autoFocus = false, draft }: ComposerProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const { prompt, setPrompt, attach, isSending, send } = usePrompt(onSend, field);
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
        // The button that was clicked is disabled while the prompt is sent.
        field.current?.focus();
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

function usePrompt(onSend: ComposerProps['onSend'], field: RefObject<HTMLTextAreaElement | null>) {
  const { notice } = useSession();
  const [prompt, setPrompt] = useState(EMPTY);
  const [isSending, setSending] = useState(false);
  useContinuedPrompt({ prompt, setPrompt, isSending, field });
  const send = async () => {
    if (prompt.text.trim() === '' || isSending) return;
    setSending(true);
    // Text that is typed from now on belongs to the next prompt.
    setPrompt(EMPTY);
    const isSent = await onSend(prompt);
    setSending(false);
    if (!isSent) setPrompt((typed) => withTyped(prompt, typed));
  };
  const attach = async (files: Iterable<File>) => {
    const { attachments, problems } = await attachFiles(prompt.attachments, files);
    setPrompt((before) => ({ ...before, attachments }));
    if (problems.length > 0) notice.set(problems.join(' '));
  };
  return { prompt, setPrompt, attach, isSending, send };
}

/** A prompt that could not be sent, with what was typed meanwhile. */
function withTyped(prompt: Prompt, { text, attachments }: Prompt): Prompt {
  return {
    ...prompt,
    text: text === '' ? prompt.text : `${prompt.text}\n${text}`,
    attachments: [...prompt.attachments, ...attachments],
  };
}

interface PromptField {
  readonly prompt: Prompt;
  readonly setPrompt: (prompt: Prompt) => void;
  readonly isSending: boolean;
  readonly field: RefObject<HTMLTextAreaElement | null>;
}

/** Keeps the focus, and the text that was typed meanwhile, when sending a prompt opens another conversation. */
function useContinuedPrompt({ setPrompt, field, ...state }: PromptField): void {
  const { continuedPrompt } = useSession();
  const latest = useRef(state);
  latest.current = state;
  useLayoutEffect(() => {
    const element = field.current;
    const continued = continuedPrompt.value;
    continuedPrompt.set(undefined);
    if (continued !== undefined) {
      setPrompt(continued);
      element?.focus();
    }
    return () => {
      const { isSending, prompt } = latest.current;
      if (isSending && document.activeElement === element) continuedPrompt.set(prompt);
    };
  }, [continuedPrompt, setPrompt, field]);
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
