import type { KeyboardEvent } from 'react';

interface TabsProps<Id extends string> {
  readonly label: string;
  readonly tabs: readonly { readonly id: Id; readonly title: string }[];
  readonly current: Id;
  readonly onSelect: (id: Id) => void;
}

/** A row of options, one of which is selected. The arrow keys move between them. */
export function Tabs<Id extends string>({ label, tabs, current, onSelect }: TabsProps<Id>) {
  const move = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const index = tabs.findIndex(({ id }) => id === current);
    const next = (index + step + tabs.length) % tabs.length;
    onSelect(tabs[next]!.id);
    (event.currentTarget.children[next] as HTMLElement).focus();
    event.preventDefault();
  };
  return (
    <div className="tabs" role="radiogroup" aria-label={label} onKeyDown={move}>
      {tabs.map(({ id, title }) => (
        <button
          key={id}
          type="button"
          role="radio"
          aria-checked={id === current}
          tabIndex={id === current ? 0 : -1}
          onClick={() => onSelect(id)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}
