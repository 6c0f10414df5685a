import { useState } from 'react';
import { useSelection } from '../state/selection.ts';
import { argumentSummary, duration } from '../view/format.ts';
import type { ScriptView } from '../view/types.ts';
import { statusText } from './waterfall-chart.tsx';

const PAGE = 100;

/** The calls of a script, with the state of each. */
export function CallsTable({ script }: { readonly script: ScriptView }) {
  const [shown, setShown] = useState(PAGE);
  const selection = useSelection();
  if (script.calls.length === 0) return <p className="empty">The script made no calls.</p>;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Calls of the script">
      <table className="calls-table">
        <thead>
          <tr>
            <th scope="col">Tool</th>
            <th scope="col">Arguments</th>
            <th scope="col">Line</th>
            <th scope="col">State</th>
            <th scope="col">Time</th>
          </tr>
        </thead>
        <tbody>
          {script.calls.slice(0, shown).map((call) => (
            <tr key={call.callId} data-selected={call.callId === selection.callId || undefined}>
              <td>
                <button type="button" className="link" onClick={() => selection.select(call, script)}>
                  {call.tool}
                </button>
              </td>
              <td className="cut">{argumentSummary(call.input)}</td>
              <td className="number">{call.line}</td>
              <td data-status={call.status} className="state">
                {statusText(call.status)}
                {call.operation?.error !== undefined && (
                  <div className="error-text">{call.operation.error.message}</div>
                )}
              </td>
              <td className="number">{call.operation === undefined ? '' : duration(call.operation.duration_ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {script.calls.length > shown && (
        <button type="button" className="link" onClick={() => setShown(shown + 500)}>
          {script.calls.length - shown} more calls
        </button>
      )}
    </div>
  );
}
