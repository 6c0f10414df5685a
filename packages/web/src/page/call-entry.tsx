import { CodeLines } from '../parts/code-lines.tsx';
import { ValueView } from '../parts/value-view.tsx';
import { useSelection } from '../state/selection.ts';
import { argumentSummary, duration } from '../view/format.ts';
import { parsedText } from '../view/parsed-text.ts';
import type { Entry } from '../view/types.ts';

/** A structured call of the model. */
export function CallEntry({ entry: { item, output, call } }: { readonly entry: Extract<Entry, { type: 'call' }> }) {
  const input = parsedText(item.arguments);
  const state = output === undefined ? (call?.status ?? 'running') : output.success ? 'completed' : 'failed';
  const isSelected = useSelection().callId === item.call_id;
  return (
    <details className="card call-entry" data-status={state} data-selected={isSelected || undefined}>
      <summary>
        <span className="dot" data-status={state === 'failed' ? 'error' : state === 'running' ? 'executing' : state} />
        <code>{item.name}</code>
        <span className="cut dim">{argumentSummary(input)}</span>
        {call?.operation !== undefined && <span className="dim">{duration(call.operation.duration_ms)}</span>}
      </summary>
      <h4>Arguments</h4>
      <ValueView value={input} label="the arguments" />
      {output !== undefined && (
        <>
          <h4>Result</h4>
          <CodeLines text={output.output} label="Result" />
        </>
      )}
    </details>
  );
}
