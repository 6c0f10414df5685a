import { useEffect, useMemo, useRef, useState } from 'react';
import type { Highlighter } from '../view/highlight.ts';
import { codeTokens } from '../view/code-tokens.ts';
import { keptLines, plainLines, type Lines } from '../view/lines.ts';

/** Texts with more characters are not highlighted. */
const MAX_HIGHLIGHTED = 60_000;

/** A source that has not grown for this long, in ms, is highlighted as a whole. */
const ENDED_MS = 400;

let LoadedHighlighter: typeof Highlighter | undefined;

/**
 * The tokens of each line. The text is plain until the highlighter is loaded, because the first load of the page omits
 * the highlighter.
 */
export function useHighlighted(source: string, isScript: boolean, language = ''): Lines {
  const [highlighter, setHighlighter] = useState(() =>
    LoadedHighlighter === undefined ? undefined : new LoadedHighlighter(),
  );
  const isWanted = isScript && source.length <= MAX_HIGHLIGHTED;
  useEffect(() => {
    if (!isWanted || highlighter !== undefined) return undefined;
    let isCurrent = true;
    import('../view/highlight.ts').then(
      (module) => {
        LoadedHighlighter = module.Highlighter;
        if (isCurrent) setHighlighter(new LoadedHighlighter());
      },
      // Without the highlighter, the text stays plain.
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [isWanted, highlighter]);
  const last = useRef<Lines>([]);
  const lines = useMemo(() => {
    const isParsed = isWanted && highlighter !== undefined;
    const isLong = source.length > MAX_HIGHLIGHTED;
    const read = isParsed ? highlighter.lines(source) : isLong ? plainLines(source) : codeTokens(source, language);
    last.current = keptLines(last.current, read);
    return last.current;
  }, [source, isWanted, highlighter, language]);
  useEffect(() => {
    if (LoadedHighlighter === undefined || !isWanted || highlighter?.hasKeptTokens !== true) return undefined;
    const timer = setTimeout(
      () => LoadedHighlighter !== undefined && setHighlighter(new LoadedHighlighter()),
      ENDED_MS,
    );
    return () => clearTimeout(timer);
  }, [source, isWanted, highlighter]);
  return lines;
}
