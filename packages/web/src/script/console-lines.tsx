import { useState } from 'react';
import type { LogLine } from '../view/types.ts';
import { duration } from '../view/format.ts';
import { visible } from '../view/visible.ts';

/** The number of newest lines that are shown at first. */
const SHOWN = 12;

/** Console lines and progress of a script. `startedAt`: in ms since 1970. */
export function ConsoleLines({ logs, startedAt }: { readonly logs: readonly LogLine[]; readonly startedAt: number }) {
  const [isWhole, setWhole] = useState(false);
  if (logs.length === 0) return null;
  const hidden = isWhole ? 0 : Math.max(0, logs.length - SHOWN);
  return (
    <section className="console" aria-label="Console of the script">
      {hidden > 0 && (
        <button type="button" className="link" onClick={() => setWhole(true)}>
          {hidden} earlier lines
        </button>
      )}
      {logs.slice(hidden).map((line, index) => (
        <div key={hidden + index} className="console-line" data-level={line.level}>
          <span className="dim console-time">+{duration(Math.max(0, line.at - startedAt))}</span>
          <span>
            {line.isProgress && <span className="tag">progress</span>}
            {visible(line.text)}
          </span>
        </div>
      ))}
    </section>
  );
}
