import { useEffect, useMemo, useState } from 'react';
import type { Token } from '../view/highlight.ts';

type Highlight = (source: string) => readonly (readonly Token[])[];

/** Longer texts are not highlighted. */
const MAX_HIGHLIGHTED = 60_000;

let loaded: Highlight | undefined;

/** The tokens of each line. Plain text until the highlighter, which is not part of the first load, is there. */
export function useHighlighted(source: string, isScript: boolean): readonly (readonly Token[])[] {
  const [highlight, setHighlight] = useState<Highlight | undefined>(() => loaded);
  const isWanted = isScript && source.length <= MAX_HIGHLIGHTED;
  useEffect(() => {
    if (!isWanted || highlight !== undefined) return undefined;
    let isCurrent = true;
    import('../view/highlight.ts').then(
      ({ highlightLines }) => {
        loaded = highlightLines;
        if (isCurrent) setHighlight(() => highlightLines);
      },
      // The text stays plain.
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [isWanted, highlight]);
  return useMemo(
    () => (isWanted && highlight !== undefined ? highlight(source) : plainLines(source)),
    [source, isWanted, highlight],
  );
}

function plainLines(source: string): readonly (readonly Token[])[] {
  return source.split('\n').map((text) => (text === '' ? [] : [{ text, style: '' }]));
}
