import { Fragment } from 'react';
import type { Token } from '../view/highlight.ts';
import { useHighlighted } from './use-highlighted.ts';

interface CodeLinesProps {
  readonly text: string;
  /** Highlights it as TypeScript. */
  readonly isScript?: boolean;
  readonly label?: string;
}

/** A block of code or of other text whose spaces count. */
export function CodeLines({ text, isScript = false, label = 'Code' }: CodeLinesProps) {
  const lines = useHighlighted(text, isScript);
  return (
    <pre className="code" tabIndex={0} role="region" aria-label={label}>
      <code>
        {!isScript
          ? text
          : lines.map((tokens, index) => (
              <Fragment key={index}>
                {index > 0 && '\n'}
                <Tokens tokens={tokens} />
              </Fragment>
            ))}
      </code>
    </pre>
  );
}

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
