import { memo } from 'react';
import type { Token } from '../view/lines.ts';
import { useHighlighted } from './use-highlighted.ts';

interface CodeLinesProps {
  readonly text: string;
  /** Highlights it as TypeScript. */
  readonly isScript?: boolean;
  readonly label?: string;
  /** It belongs to the block of code above it. */
  readonly isContinued?: boolean;
}

/** A block of code or of other text whose spaces count. */
export function CodeLines({ text, isScript = false, label = 'Code', isContinued = false }: CodeLinesProps) {
  const lines = useHighlighted(text, isScript);
  return (
    <pre className="code" data-continued={isContinued || undefined} tabIndex={0} role="region" aria-label={label}>
      <code>
        {!isScript ? text : lines.map((tokens, index) => <Line key={index} tokens={tokens} isFirst={index === 0} />)}
      </code>
    </pre>
  );
}

interface LineProps {
  readonly tokens: readonly Token[];
  readonly isFirst: boolean;
}

const Line = memo(function Line({ tokens, isFirst }: LineProps) {
  return (
    <>
      {!isFirst && '\n'}
      <Tokens tokens={tokens} />
    </>
  );
});

export function Tokens({ tokens }: { readonly tokens: readonly Token[] }) {
  return tokens.map(({ text, style }, index) =>
    style === '' ? (
      text
    ) : (
      <span key={index} className={style}>
        {text}
      </span>
    ),
  );
}
