import type { ReactNode } from 'react';

interface DecisionButtonProps {
  readonly onDecide: () => void;
  /** Whether a click now is a decision. */
  readonly mayDecide: (event: Event) => boolean;
  /** True while clicks are ignored: the card has just appeared, changed or moved, or a decision is sent. */
  readonly isWaiting: boolean;
  readonly disabled?: boolean | undefined;
  readonly className?: string | undefined;
  /** Whether a key does the same while the card has the focus. Its place is kept, so that the button never grows. */
  readonly hasKey?: boolean | undefined;
  /** The key that does the same now. */
  readonly shortcut?: string | undefined;
  readonly children: ReactNode;
}

/** A button that decides about a call. It keeps the focus while it waits. */
export function DecisionButton(props: DecisionButtonProps) {
  const { onDecide, mayDecide, isWaiting, disabled, className, hasKey = false, shortcut, children } = props;
  return (
    <button
      type="button"
      className={className}
      disabled={disabled}
      aria-disabled={isWaiting || undefined}
      aria-keyshortcuts={shortcut}
      onClick={({ nativeEvent }) => {
        if (!isWaiting && mayDecide(nativeEvent)) onDecide();
      }}
    >
      {children}
      {hasKey && (
        <span className="key-place">{shortcut !== undefined && <kbd aria-hidden="true">{shortcut}</kbd>}</span>
      )}
    </button>
  );
}
