import type { Parameters, Value } from '../tables/database.js';

export interface Statement {
  readonly text: string;
  readonly values: (string | number)[];
}

const NAME = /(?<![:\w]):([A-Za-z]\w*)/gu;

/**
 * The statement with numbered parameters. Each has its type, because PostgreSQL deduces none where several fit. Null
 * has no type, so it becomes part of the text.
 */
export function statementOf(sql: string, parameters: Parameters): Statement {
  const values: (string | number)[] = [];
  const places = new Map<string, string>();
  const text = sql.replaceAll(NAME, (_match, name: string) => {
    const known = places.get(name) ?? placeOf(parameters[name], values);
    places.set(name, known);
    return known;
  });
  return { text, values };
}

/** Inserts several rows. */
export function insertStatement(table: string, rows: readonly (readonly Value[])[]): Statement {
  const values: (string | number)[] = [];
  const lists = rows.map((row) => `(${row.map((value) => placeOf(value, values)).join(', ')})`);
  return { text: `INSERT INTO ${table} VALUES ${lists.join(', ')}`, values };
}

function placeOf(value: Value | undefined, values: (string | number)[]): string {
  if (value === undefined) throw new TypeError('A parameter of the statement is missing');
  if (value === null) return 'NULL';
  values.push(value);
  return `$${values.length}::${typeof value === 'number' ? 'bigint' : 'text'}`;
}
