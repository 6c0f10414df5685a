import type { ReactNode } from 'react';
import { errorText, useSession } from '../state/session.ts';
import { Dialog } from './dialog.tsx';

interface ConfirmDialogProps {
  readonly title: string;
  /** The label of the button that confirms, such as `Delete`. */
  readonly action: string;
  /** If it rejects, the user reads the reason. */
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
  /** Called after a confirmed dialog is closed, also after a failure. */
  readonly onEnd?: (() => void) | undefined;
  readonly children: ReactNode;
}

/** Asks before an act that cannot be undone. */
export function ConfirmDialog({ title, action, onConfirm, onClose, onEnd, children }: ConfirmDialogProps) {
  const { notice } = useSession();
  const confirm = async () => {
    try {
      await onConfirm();
    } catch (error) {
      notice.set(errorText(error));
    }
    onClose();
    onEnd?.();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <div className="dialog-buttons">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="danger" onClick={() => void confirm()}>
          {action}
        </button>
      </div>
    </Dialog>
  );
}
