import { lazy, Suspense, useEffect, useState } from 'react';
import { Dialog } from '../parts/dialog.tsx';

const Finder = lazy(() => import('./finder.tsx'));

const KEYS: readonly [keys: string, does: string][] = [
  ['Ctrl K', 'finds a conversation'],
  ['?', 'shows this list'],
  ['Enter', 'sends the prompt'],
  ['Shift Enter', 'begins a new line'],
  ['Escape', 'closes the details'],
  ['a', 'approves the call whose card has the focus'],
  ['e', 'edits it'],
  ['d', 'denies it'],
  ['j, k', 'go to the next and the previous call'],
];

/** The keys that work everywhere on the page, and the dialogs that they open. */
export function Shortcuts() {
  const [shown, setShown] = useState<'finder' | 'keys'>();
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const wanted = wantedDialog(event);
      if (wanted === undefined || document.querySelector('dialog[open]') !== null) return;
      event.preventDefault();
      setShown(wanted);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const close = () => setShown(undefined);
  if (shown === 'finder')
    return (
      <Suspense fallback={null}>
        <Finder onClose={close} />
      </Suspense>
    );
  if (shown !== 'keys') return null;
  return (
    <Dialog title="Keys" onClose={close}>
      <dl className="facts">
        {KEYS.map(([keys, does]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

function wantedDialog({ key, ctrlKey, metaKey, altKey, target }: KeyboardEvent): 'finder' | 'keys' | undefined {
  if (altKey) return undefined;
  if (ctrlKey || metaKey) return key.toLowerCase() === 'k' ? 'finder' : undefined;
  const isField =
    target instanceof HTMLElement && (target.isContentEditable || target.closest('input, textarea, select') !== null);
  return key === '?' && !isField ? 'keys' : undefined;
}
