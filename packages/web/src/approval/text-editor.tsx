import { useId } from 'react';
import { visible } from '../view/visible.ts';
import { argumentProblems } from './check-arguments.ts';

interface TextEditorProps {
  /** The arguments as JSON. */
  readonly text: string;
  /** A JSON Schema for the arguments; undefined if any value is valid. */
  readonly schema: Readonly<Record<string, unknown>> | undefined;
  /** `problems`: the violations of the schema, one sentence each. */
  readonly onChange: (text: string, problems: readonly string[]) => void;
}

/** Edits the texts among the arguments of a call as texts. The other arguments stay. */
export default function TextEditor({ text, schema, onChange }: TextEditorProps) {
  const id = useId();
  const input = JSON.parse(text) as Record<string, unknown>;
  const change = (name: string, value: string) => {
    const next = JSON.stringify({ ...input, [name]: value }, null, 2);
    onChange(next, argumentProblems(next, schema));
  };
  return Object.entries(input).map(([name, value]) => {
    if (typeof value !== 'string') return null;
    const isLong = value.includes('\n');
    return (
      <label key={name} className="field" htmlFor={`${id}-${name}`}>
        {visible(name)}
        <textarea
          id={`${id}-${name}`}
          className={isLong ? 'text-argument' : undefined}
          rows={isLong ? Math.min(16, value.split('\n').length + 1) : 1}
          spellCheck={false}
          dir="auto"
          value={value}
          onChange={(event) => change(name, event.target.value)}
        />
      </label>
    );
  });
}
