import { useState } from 'react';
import { diffLines, type DiffLine } from '../view/diff-lines.ts';
import { visible } from '../view/visible.ts';

/** A text, with colours if it is a patch or a diff. */
export function DiffText({ text, label }: { readonly text: string; readonly label: string }) {
  const { isDiff, lines } = diffLines(text);
  return <Lines lines={lines} label={label} isDiff={isDiff} />;
}

/** The lines of a diff, with colours. */
export function DiffLines({ lines, label }: { readonly lines: readonly DiffLine[]; readonly label: string }) {
  return <Lines lines={lines.map(({ kind, text }) => ({ kind, text: visible(text) }))} label={label} isDiff />;
}

interface LinesProps {
  readonly lines: readonly DiffLine[];
  readonly label: string;
  readonly isDiff: boolean;
}

/** A longer text is cut after this number of lines until the user asks for all of it. */
const MAX_LINES = 60;

function Lines({ lines, label, isDiff }: LinesProps) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole || lines.length <= MAX_LINES ? lines : lines.slice(0, MAX_LINES);
  return (
    <>
      <div className="diff" data-diff={isDiff || undefined} tabIndex={0} role="region" aria-label={label}>
        {shown.map(({ kind, text }, index) => (
          <div key={index} className={`diff-${kind}`}>
            {text === '' ? ' ' : text}
          </div>
        ))}
      </div>
      {shown.length < lines.length && (
        <button type="button" className="link diff-more" onClick={() => setWhole(true)}>
          Show {lines.length - shown.length} more lines
        </button>
      )}
    </>
  );
}
