import { memo, useMemo, useRef, useState } from 'react';
import { useSelection } from '../state/selection.ts';
import { Tokens } from '../parts/code-lines.tsx';
import { useHighlighted } from '../parts/use-highlighted.ts';
import { duration } from '../view/format.ts';
import { isSamePart, lineParts, type LinePart, type Token } from '../view/lines.ts';
import { lineNotes, type LineNote } from '../view/line-notes.ts';
import type { ScriptView } from '../view/types.ts';

/** The number of lines that are shown at first. A button shows the other lines. */
const MAX_LINES = 80;

/** A script's source, with a note at each line that makes calls. */
export function SourceView({ script }: { readonly script: ScriptView }) {
  const { source, status, calls, output } = script;
  const [isWhole, setWhole] = useState(false);
  const selection = useSelection();
  const lines = useHighlighted(source, true);
  const notes = useMemo(() => lineNotes(calls), [calls]);
  const isTyping = status === 'typing';
  const shown = isWhole || isTyping ? lines : lines.slice(0, MAX_LINES);
  const selectedLine = calls.find(({ callId }) => callId === selection.callId)?.line;
  const select = (line: number) => {
    const ids = notes.get(line)?.callIds ?? [];
    const next = ids[(ids.indexOf(selection.callId ?? '') + 1) % ids.length];
    selection.select(
      calls.find(({ callId }) => callId === next),
      script,
    );
  };
  const latest = useRef(select);
  latest.current = select;
  const [onSelect] = useState(() => (line: number) => latest.current(line));
  const marks = {
    selected: selectedLine,
    failed: status === 'error' ? output?.error?.line : undefined,
    caret: isTyping ? shown.length : undefined,
  };
  return (
    <div className="source" tabIndex={0} role="region" aria-label="Source of the script">
      <div className="source-lines">
        {lineParts(shown).map((part) => (
          <SourcePart
            key={part.from}
            part={part}
            isWhole={part.from + part.lines.length < shown.length}
            notes={notes}
            marks={marks}
            onSelect={onSelect}
          />
        ))}
      </div>
      {shown.length < lines.length && (
        <button type="button" className="link source-more" onClick={() => setWhole(true)}>
          Show all {lines.length} lines
        </button>
      )}
    </div>
  );
}

/** The numbers of the marked lines. */
interface LineMarks {
  readonly selected: number | undefined;
  readonly failed: number | undefined;
  /** The line in which the model is writing. */
  readonly caret: number | undefined;
}

interface SourcePartProps {
  readonly part: LinePart;
  /** Whether no more lines are added to the part. */
  readonly isWhole: boolean;
  readonly notes: ReadonlyMap<number, LineNote>;
  readonly marks: LineMarks;
  readonly onSelect: (line: number) => void;
}

/** Lines that are laid out together. The browser skips parts that are not in view. */
const SourcePart = memo(
  function SourcePart({ part: { from, lines }, isWhole, notes, marks, onSelect }: SourcePartProps) {
    return (
      <div className="source-part" data-whole={isWhole || undefined}>
        {lines.map((tokens, index) => {
          const number = from + index + 1;
          return (
            <SourceLine
              key={number}
              number={number}
              tokens={tokens}
              note={notes.get(number)}
              isSelected={marks.selected === number}
              isFailed={marks.failed === number}
              hasCaret={marks.caret === number}
              onSelect={onSelect}
            />
          );
        })}
      </div>
    );
  },
  (before, after) =>
    before.notes === after.notes &&
    before.isWhole === after.isWhole &&
    isSamePart(before.part, after.part) &&
    Object.values(marksIn(before)).join() === Object.values(marksIn(after)).join(),
);

/** The marks on lines of this part; undefined for marks on other lines. */
function marksIn({ part: { from, lines }, marks }: SourcePartProps): LineMarks {
  const inside = (line: number | undefined) =>
    line !== undefined && line > from && line <= from + lines.length ? line : undefined;
  return { selected: inside(marks.selected), failed: inside(marks.failed), caret: inside(marks.caret) };
}

interface SourceLineProps {
  readonly number: number;
  readonly tokens: readonly Token[];
  readonly note: LineNote | undefined;
  readonly isSelected: boolean;
  readonly isFailed: boolean;
  /** Whether the model is writing in this line. */
  readonly hasCaret: boolean;
  readonly onSelect: (line: number) => void;
}

const NOTE_MARKS = { running: '…', waiting: 'waiting', failed: '✗', stopped: '–', completed: '✓' } as const;

const SourceLine = memo(
  function SourceLine({ number, tokens, note, isSelected, isFailed, hasCaret, onSelect }: SourceLineProps) {
    return (
      <div
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
          <button type="button" className="line-note" onClick={() => onSelect(number)}>
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
      </div>
    );
  },
  (before, after) =>
    before.note === after.note &&
    before.isSelected === after.isSelected &&
    before.isFailed === after.isFailed &&
    before.hasCaret === after.hasCaret &&
    before.tokens === after.tokens,
);
