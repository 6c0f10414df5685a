import { useState } from 'react';
import { imagesIn, tablesIn, type Table, type ValueImage } from '../view/table.ts';
import { ResultImage } from './result-image.tsx';
import { CodeLines } from './code-lines.tsx';
import { Tabs } from './tabs.tsx';
import { Leaf, ValueTree } from './value-tree.tsx';
import { visible } from '../view/visible.ts';

type Form = 'table' | 'tree' | 'json';

/** A value as tables, a tree or JSON text, with its images. */
export function ValueView({ value, label }: { readonly value: unknown; readonly label: string }) {
  const tables = tablesIn(value);
  const [form, setForm] = useState<Form>();
  const current = form ?? (tables.length > 0 ? 'table' : 'tree');
  const forms = [...(tables.length > 0 ? (['table'] as const) : []), 'tree', 'json'] as const;
  const tabs = forms.map((id) => ({ id, title: { table: 'Table', tree: 'Tree', json: 'JSON' }[id] }));
  return (
    <div className="value">
      {typeof value === 'object' && value !== null && (
        <Tabs label={`Form of ${label}`} tabs={tabs} current={current} onSelect={setForm} />
      )}
      <Images images={imagesIn(value)} />
      {current === 'table' && tables.map(({ name, table }) => <DataTable key={name} name={name} table={table} />)}
      {current === 'tree' && (
        <div className="tree" tabIndex={0} role="region" aria-label={label}>
          <ValueTree value={value} />
        </div>
      )}
      {current === 'json' && <CodeLines text={JSON.stringify(value, null, 2) ?? 'undefined'} label={label} isScript />}
      {current === 'table' && <OtherMembers value={value} names={tables.map(({ name }) => name)} />}
    </div>
  );
}

/** The members that are not in a table. */
function OtherMembers({ value, names }: { readonly value: unknown; readonly names: readonly string[] }) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const others = Object.entries(value).filter(([name]) => !names.includes(name));
  if (others.length === 0) return null;
  return (
    <div className="tree">
      {others.map(([name, member]) => (
        <ValueTree key={name} name={name} value={member} openLevels={1} />
      ))}
    </div>
  );
}

const MAX_ROWS = 100;

function DataTable({ name, table }: { readonly name: string; readonly table: Table }) {
  const [rows, setRows] = useState(MAX_ROWS);
  return (
    <figure className="data-table">
      {name !== '' && <figcaption>{visible(name)}</figcaption>}
      <div className="scroll" tabIndex={0} role="region" aria-label={`Table ${name}`}>
        <table>
          <thead>
            <tr>
              {table.columns.map((column, index) => (
                <th key={column} scope="col" className={isNumeric(table, index) ? 'number' : ''}>
                  {visible(column)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {table.rows.slice(0, rows).map((row, index) => (
              <tr key={index}>
                {row.map((cell, column) => (
                  <td key={column} className={typeof cell === 'number' ? 'number' : ''}>
                    <Cell value={cell} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {table.rows.length > rows && (
        <button type="button" className="link" onClick={() => setRows(rows + 500)}>
          {table.rows.length - rows} more rows
        </button>
      )}
    </figure>
  );
}

/** Whether a column contains only numbers. */
function isNumeric({ rows }: Table, column: number): boolean {
  return rows.every((row) => typeof row[column] === 'number');
}

function Cell({ value }: { readonly value: unknown }) {
  if (value === undefined) return null;
  return typeof value === 'object' && value !== null ? (
    <code>{visible(JSON.stringify(value))}</code>
  ) : (
    <Leaf value={value} />
  );
}

function Images({ images }: { readonly images: readonly ValueImage[] }) {
  return images.map((image, index) => <ResultImage key={index} image={image} />);
}
