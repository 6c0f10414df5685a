import { useEffect, useRef } from 'react';
import { openEditor } from './open-editor.ts';

interface JsonEditorProps {
  readonly text: string;
  /** The arguments that the script passed. The editor marks the user's changes to them. */
  readonly original: string;
  /** A JSON Schema for the value; undefined if any value is valid. */
  readonly schema: Readonly<Record<string, unknown>> | undefined;
  /** `problems`: the violations of the schema, one sentence each. */
  readonly onChange: (text: string, problems: readonly string[]) => void;
}

/** Edits the arguments of a call as JSON. They are checked against the schema after each change. */
export default function JsonEditor({ text, original, schema, onChange }: JsonEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const change = useRef(onChange);
  change.current = onChange;
  const first = useRef({ text, original, schema });
  useEffect(() => {
    if (host.current === null) return undefined;
    return openEditor(host.current, first.current, (next, problems) => change.current(next, problems));
  }, []);
  return <div ref={host} className="json-editor" />;
}
