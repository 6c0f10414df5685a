import { useState } from 'react';
import type { Approval } from '@toolscript/client';
import { CodeLines } from '../parts/code-lines.tsx';
import { DiffText } from '../parts/diff-text.tsx';
import { visible } from '../view/visible.ts';

/** The rendered call, such as a diff, and the exact text of its arguments. */
export function CallPreview({ approval }: { readonly approval: Approval }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="call-preview">
      <DiffText text={withoutLineMarks(approval.rendered)} label="The call" />
      {longTexts(approval.input).map(([name, text]) => (
        <WholeText key={name} name={name} text={text} />
      ))}
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>The exact arguments</summary>
        {isOpen && <CodeLines text={pretty(approval.inputJson)} label="The exact arguments" isScript />}
      </details>
    </div>
  );
}

/** A text of several lines in the arguments, such as the new content of a file. */
function WholeText({ name, text }: { readonly name: string; readonly text: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The whole {visible(name)}</summary>
      {isOpen && <CodeLines text={text} label={`The whole ${visible(name)}`} />}
    </details>
  );
}

/** The members of the arguments that are texts of several lines. */
export function longTexts(input: unknown): [name: string, text: string][] {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return [];
  return Object.entries(input).filter(
    (member): member is [string, string] => typeof member[1] === 'string' && member[1].includes('\n'),
  );
}

/** One line about a call, such as `Replace src/a.ts, +3 −1`: the line after the heading of its rendering. */
export function callTitle({ rendered }: Pick<Approval, 'rendered'>): string {
  return withoutLineMarks(rendered.split('\n', 2)[1] ?? '').trim();
}

/** The page shows each line as a line, so that the marks of line ends say nothing. */
function withoutLineMarks(rendered: string): string {
  return rendered
    .split('\n')
    .map((line) => (line.endsWith('⏎') ? line.slice(0, -1) : line))
    .join('\n');
}

export function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
