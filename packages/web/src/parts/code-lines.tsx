import { memo } from 'react';
import { isSamePart, lineParts, type LinePart, type Lines, type Token } from '../view/lines.ts';
import { useHighlighted } from './use-highlighted.ts';
import { visible } from '../view/visible.ts';

interface CodeLinesProps {
  readonly text: string;
  /** True to highlight the text as TypeScript. */
  readonly isScript?: boolean | undefined;
  /** The language of other code, as its author has named it. */
  readonly language?: string | undefined;
  readonly label?: string | undefined;
  /** Whether the text continues the block of code above it. */
  readonly isContinued?: boolean | undefined;
}

/** A block of code, or of other text with significant spaces. */
export function CodeLines({ text, isScript = false, language, label = 'Code', isContinued = false }: CodeLinesProps) {
  const lines = useHighlighted(text, isScript, language);
  return (
    <pre className="code" data-continued={isContinued || undefined} tabIndex={0} role="region" aria-label={label}>
      <code>{isScript || language !== undefined ? <Parts lines={lines} /> : visible(text)}</code>
    </pre>
  );
}

/** Divides the lines into parts, so that the browser renders only the changed parts again. */
function Parts({ lines }: { readonly lines: Lines }) {
  const parts = lineParts(lines);
  return parts.map((part, index) => <Part key={part.from} part={part} isLast={index === parts.length - 1} />);
}

interface PartProps {
  readonly part: LinePart;
  readonly isLast: boolean;
}

const Part = memo(
  function Part({ part: { lines }, isLast }: PartProps) {
    return (
      <span className="code-part" data-whole={!isLast || undefined}>
        {lines.map((tokens, index) => (
          <Line key={index} tokens={tokens} isLast={isLast && index === lines.length - 1} />
        ))}
      </span>
    );
  },
  (before, after) => before.isLast === after.isLast && isSamePart(before.part, after.part),
);

interface LineProps {
  readonly tokens: readonly Token[];
  readonly isLast: boolean;
}

const Line = memo(function Line({ tokens, isLast }: LineProps) {
  return (
    <>
      <Tokens tokens={tokens} />
      {!isLast && '\n'}
    </>
  );
});

export function Tokens({ tokens }: { readonly tokens: readonly Token[] }) {
  return tokens.map(({ text, style }, index) =>
    style === '' ? (
      visible(text)
    ) : (
      <span key={index} className={style}>
        {visible(text)}
      </span>
    ),
  );
}
