import { useState } from 'react';
import { visible } from '../view/visible.ts';

/** The number of members of a value that are shown at first. */
const PAGE = 50;
/** Texts with more characters are shortened until the user opens them. */
const MAX_TEXT = 400;

interface ValueTreeProps {
  readonly value: unknown;
  readonly name?: string | undefined;
  /** The number of levels that are open at first. Default 2. */
  readonly openLevels?: number | undefined;
}

/** JSON data as a tree whose levels can be opened and closed. */
export function ValueTree({ value, name, openLevels = 2 }: ValueTreeProps) {
  if (typeof value === 'object' && value !== null) return <Branch value={value} name={name} openLevels={openLevels} />;
  return (
    <div className="tree-leaf">
      <Name name={name} />
      <Leaf value={value} />
    </div>
  );
}

function Branch({ value, name, openLevels }: { value: object; name: string | undefined; openLevels: number }) {
  const [shown, setShown] = useState(PAGE);
  const entries = Object.entries(value);
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  if (entries.length === 0)
    return (
      <div className="tree-leaf">
        <Name name={name} />
        <span className="dim">{Array.isArray(value) ? '[]' : '{}'}</span>
      </div>
    );
  return (
    <details className="tree-branch" open={openLevels > 0}>
      <summary>
        <Name name={name} />
        <span className="dim">{size}</span>
      </summary>
      {entries.slice(0, shown).map(([key, member]) => (
        <ValueTree key={key} name={key} value={member} openLevels={entries.length > 12 ? 0 : openLevels - 1} />
      ))}
      {entries.length > shown && (
        <button type="button" className="link" onClick={() => setShown(shown + PAGE * 4)}>
          {entries.length - shown} more
        </button>
      )}
    </details>
  );
}

function Name({ name }: { readonly name: string | undefined }) {
  return name === undefined ? null : <span className="tree-name">{visible(name)}: </span>;
}

export function Leaf({ value }: { readonly value: unknown }) {
  const [isOpen, setOpen] = useState(false);
  if (typeof value !== 'string') return <span className="tok-number">{JSON.stringify(value) ?? 'undefined'}</span>;
  if (value.length <= MAX_TEXT || isOpen) return <span className="tree-text">{visible(value)}</span>;
  return (
    <span className="tree-text">
      {visible(value.slice(0, MAX_TEXT))}…{' '}
      <button type="button" className="link" onClick={() => setOpen(true)}>
        {value.length - MAX_TEXT} more characters
      </button>
    </span>
  );
}
