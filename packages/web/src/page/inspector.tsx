import { use, useEffect } from 'react';
import { IconButton } from '../parts/icon-button.tsx';
import { ValueView } from '../parts/value-view.tsx';
import { CodeLines } from '../parts/code-lines.tsx';
import { CopyLink } from './copy-link.tsx';
import { RunIdContext } from '../state/selection.ts';
import { EditOfCall } from '../script/edited-calls.tsx';
import { statusText } from '../script/waterfall-chart.tsx';
import { duration } from '../view/format.ts';
import type { CallView, ScriptView } from '../view/types.ts';

interface InspectorProps {
  readonly call: CallView;
  readonly script: ScriptView | undefined;
  readonly onClose: () => void;
}

/** Everything about the selected call. */
export function Inspector({ call, script, onClose }: InspectorProps) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && document.querySelector('dialog[open]') === null) onClose();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [onClose]);
  const { operation } = call;
  return (
    <aside className="inspector" aria-label="Details of the call">
      <header className="inspector-head">
        <h2>Call</h2>
        <CopyLink runId={use(RunIdContext)} callId={call.callId} />
        <IconButton icon="close" label="Close the details" onClick={onClose} />
      </header>
      <Facts call={call} script={script} />
      <h3>Arguments</h3>
      <ValueView value={call.input} label="the arguments" />
      {call.askedInput !== undefined && (
        <>
          <h3>Your edit</h3>
          <EditOfCall call={call} />
        </>
      )}
      {operation?.error !== undefined && (
        <>
          <h3>Error</h3>
          <p className="error-text">
            {operation.error.code}: {operation.error.message}
          </p>
        </>
      )}
      {operation?.result !== undefined && (
        <>
          <h3>Result</h3>
          <ValueView value={operation.result} label="the result" />
        </>
      )}
      {operation?.result_omitted === true && <p className="dim">The result was too large to show.</p>}
      {script?.output?.output_json !== undefined && (
        <>
          <h3>Value of the script</h3>
          <CodeLines text={script.output.output_json} label="Value of the script" />
        </>
      )}
    </aside>
  );
}

function Facts({ call, script }: { readonly call: CallView; readonly script: ScriptView | undefined }) {
  const from = script?.startedAt;
  const { operation, wait, startedAt } = call;
  const facts: [name: string, value: string | undefined][] = [
    ['tool', call.tool],
    ['from', call.line === undefined ? undefined : `line ${call.line}`],
    ['effect', call.effect],
    ['state', statusText(call.status)],
    ['decided', decisionText(call)],
    ['waited', wait?.to === undefined ? undefined : duration(wait.to - wait.from)],
    [
      'started',
      from === undefined || startedAt === undefined ? undefined : `+${duration(Math.max(0, startedAt - from))}`,
    ],
    ['ran', operation === undefined ? undefined : duration(operation.duration_ms)],
    ['id', call.callId],
  ];
  return (
    <dl className="facts">
      {facts.map(([name, value]) =>
        value === undefined ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

function decisionText({ decision, decidedBy, note, askedInput }: CallView): string | undefined {
  if (decision === undefined) return undefined;
  const who = decidedBy === 'person' ? 'a user' : decidedBy === 'rule' ? 'a rule' : decidedBy;
  const what = decision === 'approve' ? (askedInput === undefined ? 'approved' : 'edited and approved') : decision;
  return `${what} by ${who}${note === undefined ? '' : `: ${note}`}`;
}
