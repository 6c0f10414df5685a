import type { ScriptView } from '../view/types.ts';
import { argumentSummary } from '../view/format.ts';

/** The calls that the source contains, known before the script runs. */
export function PlanList({ script }: { readonly script: ScriptView }) {
  if (script.plan.length === 0) return <p className="empty">The source contains no tool calls.</p>;
  return (
    <ol className="plan-list" aria-label="Planned calls">
      {script.plan.map(({ tool, line, column, input, repeated, conditional }) => (
        <li key={`${line}:${column}`}>
          <code>{tool}</code> <span className="dim">line {line}</span>
          {repeated && <span className="tag">repeated</span>}
          {conditional && <span className="tag">perhaps</span>}
          {input !== undefined && <span className="cut dim">{argumentSummary(input)}</span>}
        </li>
      ))}
    </ol>
  );
}
