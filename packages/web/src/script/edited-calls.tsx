import { DiffLines } from '../parts/diff-text.tsx';
import { plural } from '../view/format.ts';
import { textChanges } from '../view/text-changes.ts';
import type { CallView, ScriptView } from '../view/types.ts';
import { visible } from '../view/visible.ts';

/** The calls whose arguments the user has edited, with the differences. */
export function EditedCalls({ script }: { readonly script: ScriptView }) {
  const edited = script.calls.filter(({ askedInput }) => askedInput !== undefined);
  if (edited.length === 0) return null;
  return (
    <details className="edited-calls">
      <summary>You edited {plural(edited.length, 'call')} before approving</summary>
      {edited.map((call) => (
        <EditOfCall key={call.callId} call={call} />
      ))}
    </details>
  );
}

/** The user's changes of the arguments of a call. */
export function EditOfCall({ call: { tool, line, askedInput, input } }: { readonly call: CallView }) {
  const name = `${visible(tool)}${line === undefined ? '' : `, line ${line}`}`;
  return (
    <>
      <p className="dim">{name}</p>
      <DiffLines lines={textChanges(readable(askedInput), readable(input))} label={`Your edit of ${name}`} />
    </>
  );
}

/** Arguments as text: each member with its name, and long texts with their lines. */
function readable(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value, null, 2) ?? '';
  return Object.entries(value)
    .map(([name, member]) => `${name}: ${typeof member === 'string' ? member : JSON.stringify(member, null, 2)}`)
    .join('\n');
}
