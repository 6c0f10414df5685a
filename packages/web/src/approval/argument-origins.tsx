import { useEffect, useState } from 'react';
import type { Approval } from '@toolscript/client';
import { argumentSources, provenanceLines, type ArgumentSource, type ArgumentSources } from '@toolscript/core/stream';
import { useSelection } from '../state/selection.ts';
import { callsBefore, hasOmittedResult } from '../view/earlier-calls.ts';
import type { ScriptView } from '../view/types.ts';
import { visible } from '../view/visible.ts';

interface ArgumentOriginsProps {
  readonly approval: Approval;
  readonly script: ScriptView;
}

/** Shows the source of each guarded argument, if the harness has found the sources. */
export function ArgumentSourceLines({ approval: { provenance } }: Pick<ArgumentOriginsProps, 'approval'>) {
  const lines = provenance === undefined ? [] : provenanceLines(provenance);
  if (lines.length === 0) return null;
  return (
    <section className="approval-origins" aria-label="Sources of the arguments">
      <h3>Sources</h3>
      <ul>
        {lines.map(({ path, source, isDoubtful }) => (
          <li key={path} data-doubtful={isDoubtful}>
            <code>{visible(path)}</code>: {isDoubtful ? <strong>{visible(source)}</strong> : visible(source)}
          </li>
        ))}
      </ul>
      {provenance?.status === 'unknown' && <p className="dim">Found by equal content, which is no proof.</p>}
    </section>
  );
}

/** Shows which results of earlier calls the arguments contain. */
export function ArgumentOrigins({ approval, script }: ArgumentOriginsProps) {
  const earlier = callsBefore(script, approval.callId);
  const found = useArgumentSources(approval, script, earlier);
  const selection = useSelection();
  if (found === undefined || found.sources.length === 0) return null;
  const isComplete = found.isComplete && !hasOmittedResult(earlier);
  return (
    <section className="approval-origins" aria-label="Earlier results in the arguments">
      <h3>From earlier results</h3>
      <ul>
        {found.sources.map((source) => (
          <li key={`${source.path} ${source.call}`}>
            <code>{source.path === '' ? 'the arguments' : visible(source.path)}</code> —{' '}
            {source.isWhole ? 'from' : 'parts from'}{' '}
            <button
              type="button"
              className="link"
              onClick={() => selection.select(earlier[source.call - 1]?.call, script)}
            >
              {callName(source)}
            </button>
          </li>
        ))}
      </ul>
      <p className="dim">
        Matched by content; not proof.
        {!isComplete && ' Not all results were compared, so there may be more.'}
      </p>
    </section>
  );
}

function callName({ tool, call, line }: ArgumentSource): string {
  return `${visible(tool)} (call ${call}${line === undefined ? '' : `, line ${line}`})`;
}

/** Compares the arguments with earlier results after the card was painted. Each card is compared in a separate task. */
function useArgumentSources(
  { input }: Approval,
  { source }: ScriptView,
  earlier: ReturnType<typeof callsBefore>,
): ArgumentSources | undefined {
  const [found, setFound] = useState<ArgumentSources>();
  const compare = () => setFound(argumentSources({ input, source }, earlier));
  const count = earlier.filter(({ result }) => result !== undefined).length;
  // The results of earlier calls do not change, but a page that has just opened may receive them after the call.
  useEffect(() => {
    if (count === 0) return undefined;
    const timer = setTimeout(compare);
    return () => clearTimeout(timer);
  }, [count, input, source]);
  return found;
}
