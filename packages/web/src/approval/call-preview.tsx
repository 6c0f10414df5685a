import { useState } from 'react';
import type { Approval } from '@toolscript/client';
import { CodeLines } from '../parts/code-lines.tsx';
import { diffLines } from '../view/diff-lines.ts';

/** The exact call: its diff, if it has one, and the exact text of its arguments. */
export function CallPreview({ approval }: { readonly approval: Approval }) {
  const { isDiff, lines } = diffLines(approval.rendered);
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="call-preview">
      <div className="diff" data-diff={isDiff || undefined} tabIndex={0} role="region" aria-label="The call">
        {lines.map(({ kind, text }, index) => (
          <div key={index} className={`diff-${kind}`}>
            {text === '' ? ' ' : text}
          </div>
        ))}
      </div>
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
