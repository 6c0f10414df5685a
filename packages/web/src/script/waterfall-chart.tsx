import { memo, useState } from 'react';
import { argumentSummary, duration } from '../view/format.ts';
import { scriptWaterfall, type Bar, type WaterfallRow } from '../view/waterfall.ts';
import type { CallStatus, ScriptView } from '../view/types.ts';
import { useSelection } from '../state/selection.ts';

/** The number of rows that are shown at first. */
const MAX_ROWS = 40;
/** If a bar ends beyond this fraction of the width, its label is drawn before the bar, where there is more room. */
const LABEL_LIMIT = 0.62;
/** The fraction of the width that a label needs next to its bar. With less room, it is drawn over the bar. */
const LABEL_ROOM = 0.38;

/** Shows when each call of a script waited and ran. `now`: in ms since 1970. */
export function WaterfallChart({ script, now }: { readonly script: ScriptView; readonly now: number }) {
  const [shown, setShown] = useState(MAX_ROWS);
  const selection = useSelection();
  if (script.calls.length === 0) return null;
  const { rows, ticks } = scriptWaterfall(script, now);
  return (
    <div className="waterfall" role="group" aria-label="Calls over time">
      <div className="waterfall-rows">
        {rows.slice(0, shown).map((row) => (
          <Row
            key={row.call.callId}
            row={row}
            isSelected={row.call.callId === selection.callId}
            onSelect={() => selection.select(row.call, script)}
          />
        ))}
      </div>
      {rows.length > shown && (
        <button type="button" className="link waterfall-more" onClick={() => setShown(shown + 400)}>
          {rows.length - shown} more calls
        </button>
      )}
      <div className="waterfall-axis" aria-hidden="true">
        {ticks.map(({ at, ms }) => (
          <span key={at}>{at === 0 ? '0' : duration(ms)}</span>
        ))}
      </div>
    </div>
  );
}

interface RowProps {
  readonly row: WaterfallRow;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}

const Row = memo(
  function Row({ row, isSelected, onSelect }: RowProps) {
    const { call, run, wait, end } = row;
    const summary = argumentSummary(call.input, 46);
    const begin = Math.min(...[wait, run].flatMap((bar) => (bar === undefined ? [] : [bar.left])));
    const side = end <= LABEL_LIMIT ? 'after' : begin >= LABEL_ROOM ? 'before' : 'over';
    const place = {
      after: { left: percent(end) },
      before: { right: percent(1 - begin) },
      over: { left: percent(begin) },
    };
    return (
      <button
        type="button"
        className="waterfall-row"
        data-effect={call.effect}
        data-status={call.status}
        aria-pressed={isSelected}
        aria-label={`${call.tool} ${summary}, ${statusText(call.status)}${call.line === undefined ? '' : `, line ${call.line}`}`}
        onClick={onSelect}
      >
        {wait !== undefined && <span className="bar bar-wait" style={barStyle(wait)} />}
        {run !== undefined && <span className="bar bar-run" style={barStyle(run)} />}
        <span className="bar-label" data-side={side} style={place[side]}>
          {call.tool} <span className="dim">{summary}</span>
        </span>
      </button>
    );
  },
  (before, after) =>
    before.isSelected === after.isSelected &&
    before.row.call === after.row.call &&
    before.row.end === after.row.end &&
    before.row.run?.left === after.row.run?.left &&
    before.row.run?.width === after.row.run?.width &&
    before.row.wait?.left === after.row.wait?.left &&
    before.row.wait?.width === after.row.wait?.width,
);

function barStyle({ left, width }: Bar) {
  return { left: percent(left), width: percent(width) };
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)}%`;
}

const STATUS_TEXTS: Readonly<Record<CallStatus, string>> = {
  running: 'running',
  waiting: 'waiting for you',
  awaiting_approval: 'waiting for you',
  completed: 'completed',
  failed: 'failed',
  denied: 'denied',
  aborted: 'cancelled',
  unknown: 'outcome unknown',
  not_started: 'did not start',
  detached: 'continues after the script',
};

export function statusText(status: CallStatus): string {
  return STATUS_TEXTS[status];
}
