import { useEffect, useRef } from 'react';
import { openEditor } from './open-editor.ts';

interface JsonEditorProps {
  readonly text: string;
  /** The arguments as the script made them: changes are marked. */
  readonly original: string;
  /** A JSON Schema for the value; undefined: any value. */
  readonly schema: Readonly<Record<string, unknown>> | undefined;
  /** `problems`: what does not fit, one sentence each. */
  readonly onChange: (text: string, problems: readonly string[]) => void;
}

/** Edits the arguments of a call as JSON. It checks them against the schema with each key. */
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
