import { diffLines } from '../view/diff-lines.ts';

/** A text, with colours if it is a patch or a diff. */
export function DiffText({ text: whole, label }: { readonly text: string; readonly label: string }) {
  const { isDiff, lines } = diffLines(whole);
  return (
    <div className="diff" data-diff={isDiff || undefined} tabIndex={0} role="region" aria-label={label}>
      {lines.map(({ kind, text }, index) => (
        <div key={index} className={`diff-${kind}`}>
          {text === '' ? ' ' : text}
        </div>
      ))}
    </div>
  );
}
