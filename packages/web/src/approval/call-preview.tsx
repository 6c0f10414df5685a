import { useState } from 'react';
import type { Approval } from '@toolscript/client';
import { CodeLines } from '../parts/code-lines.tsx';
import { DiffText } from '../parts/diff-text.tsx';

/** The rendered call, such as a diff, and the exact text of its arguments. */
export function CallPreview({ approval }: { readonly approval: Approval }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="call-preview">
      <DiffText text={approval.rendered} label="The call" />
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>The exact arguments</summary>
        {isOpen && <CodeLines text={pretty(approval.inputJson)} label="The exact arguments" isScript />}
      </details>
    </div>
  );
}

export function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
