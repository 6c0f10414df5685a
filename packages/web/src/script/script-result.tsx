import { CodeLines } from '../parts/code-lines.tsx';
import { ValueView } from '../parts/value-view.tsx';
import type { ScriptOutputItem } from '../view/types.ts';
import { visible } from '../view/visible.ts';

/** The value, the output or the error of a script that has ended. */
export function ScriptResult({ output }: { readonly output: ScriptOutputItem }) {
  const { error, result, summary } = output;
  const hasValue = result !== undefined && result !== null;
  return (
    <section className="result" aria-label="Result of the script">
      {error !== undefined && (
        <div className={USER_ENDS.has(error.code) ? 'run-end' : 'failure'}>
          <p>
            <strong>{USER_ENDS.get(error.code) ?? error.code}</strong>
            {error.line !== undefined && <span className="dim"> at line {error.line}</span>}
          </p>
          <p>{visible(error.message)}</p>
          {error.frame !== undefined && <CodeLines text={error.frame} label="Where it failed" />}
          {error.hint !== undefined && <p className="dim">{error.hint}</p>}
        </div>
      )}
      {output.output !== undefined && output.output !== '' && <p className="script-text">{output.output}</p>}
      {summary !== undefined && <p className="summary">{summary}</p>}
      {hasValue && <ValueView value={withoutSummary(result, summary)} label="the result" />}
    </section>
  );
}

/** Ends that the user has caused. */
const USER_ENDS: ReadonlyMap<string, string> = new Map([
  ['ScriptCancelledError', 'Stopped'],
  ['ApprovalDeniedError', 'Denied'],
]);

function withoutSummary(result: unknown, summary: string | undefined): unknown {
  if (summary === undefined || typeof result !== 'object' || result === null || Array.isArray(result)) return result;
  const { message: _message, ...others } = result as Record<string, unknown>;
  return others;
}
