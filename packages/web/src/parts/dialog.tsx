import { useEffect, useId, useRef, type ReactNode } from 'react';
import { IconButton } from './icon-button.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly className?: string | undefined;
}

/** A modal dialog. The browser keeps the focus in it, and restores the focus afterwards. */
export function Dialog({ title, onClose, children, className = '' }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = element.current;
    if (dialog !== null && !dialog.open) dialog.showModal();
    // The browser focuses the first button, which closes the dialog.
    dialog?.querySelector<HTMLElement>('.dialog-body :is(input, textarea)')?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={element} className={`dialog ${className}`} aria-labelledby={titleId} onCancel={onClose}>
      <header className="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </header>
      <div className="dialog-body">{children}</div>
    </dialog>
  );
}
