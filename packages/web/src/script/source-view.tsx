import { memo, useMemo, useState } from 'react';
import { useSelection } from '../state/selection.ts';
import { Tokens } from '../parts/code-lines.tsx';
import { useHighlighted } from '../parts/use-highlighted.ts';
import { duration } from '../view/format.ts';
import type { Token } from '../view/lines.ts';
import { lineNotes, type LineNote } from '../view/line-notes.ts';
import type { ScriptView } from '../view/types.ts';

/** Longer scripts show their first lines and a button. */
const MAX_LINES = 80;

/** A script's source, with a note at each line that makes calls. */
export function SourceView({ script }: { readonly script: ScriptView }) {
  const { source, calls, output } = script;
  const [isWhole, setWhole] = useState(false);
  const selection = useSelection();
  const lines = useHighlighted(source, true);
  const notes = useMemo(() => lineNotes(calls), [calls]);
  const isTyping = script.status === 'typing';
  const shown = isWhole || isTyping ? lines : lines.slice(0, MAX_LINES);
  const selectedLine = calls.find(({ callId }) => callId === selection.callId)?.line;
  return (
    <div className="source" tabIndex={0} role="region" aria-label="Source of the script">
      <ol>
        {shown.map((tokens, index) => (
          <SourceLine
            key={index}
            number={index + 1}
            tokens={tokens}
            note={notes.get(index + 1)}
            isSelected={selectedLine === index + 1}
            isFailed={output?.error?.line === index + 1}
            hasCaret={isTyping && index === shown.length - 1}
            onSelect={() => {
              const ids = notes.get(index + 1)?.callIds ?? [];
              const next = ids[(ids.indexOf(selection.callId ?? '') + 1) % ids.length];
              selection.select(
                calls.find(({ callId }) => callId === next),
                script,
              );
            }}
          />
        ))}
      </ol>
      {shown.length < lines.length && (
        <button type="button" className="link source-more" onClick={() => setWhole(true)}>
          Show all {lines.length} lines
        </button>
      )}
    </div>
  );
}

interface SourceLineProps {
  readonly number: number;
  readonly tokens: readonly Token[];
  readonly note: LineNote | undefined;
  readonly isSelected: boolean;
  readonly isFailed: boolean;
  /** The model writes here. */
  readonly hasCaret: boolean;
  readonly onSelect: () => void;
}

const NOTE_MARKS = { running: '…', waiting: 'waits', failed: '✗', completed: '✓' } as const;

const SourceLine = memo(
  function SourceLine({ number, tokens, note, isSelected, isFailed, hasCaret, onSelect }: SourceLineProps) {
    return (
      <li
        className="source-line"
        data-effect={note?.effect}
        data-status={note?.status}
        data-selected={isSelected || undefined}
        data-failed={isFailed || undefined}
      >
        <span className="line-number">{number}</span>
        <code>
          <Tokens tokens={tokens} />
          {hasCaret && <span className="caret" aria-hidden="true" />}
        </code>
        {note !== undefined && (
          <button type="button" className="line-note" onClick={onSelect}>
            <span className="hidden">Line {number}: </span>
            <span className="note-text">
              {note.label}
              {note.durationMs !== undefined && ` · ${duration(note.durationMs)}`}{' '}
            </span>
            <span className="mark" aria-hidden="true">
              {NOTE_MARKS[note.status]}
            </span>
            <span className="hidden">, {note.status}</span>
          </button>
        )}
      </li>
    );
  },
  (before, after) =>
    before.note === after.note &&
    before.isSelected === after.isSelected &&
    before.isFailed === after.isFailed &&
    before.hasCaret === after.hasCaret &&
    before.tokens === after.tokens,
);
