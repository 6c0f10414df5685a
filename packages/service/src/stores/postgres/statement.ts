import type { Parameters, Value } from '../tables/database.js';

type BoundValue = string | number | Uint8Array;

export interface Statement {
  readonly text: string;
  readonly values: BoundValue[];
}

const NAME = /(?<![:\w]):([A-Za-z]\w*)/gu;

/** The time of the server, in ms since 1970. */
const NOW_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/**
 * The statement with numbered parameters. Each parameter has an explicit type, because PostgreSQL infers none if
 * several are possible. Null has no type, so it becomes part of the text. `NOW_MS` is the time of the server.
 */
export function postgresStatement(sql: string, parameters: Parameters): Statement {
  const values: BoundValue[] = [];
  const places = new Map<string, string>();
  const text = sql.replaceAll('NOW_MS', NOW_MS).replaceAll(NAME, (_match, name: string) => {
    const known = places.get(name) ?? parameterText(parameters[name], values);
    places.set(name, known);
    return known;
  });
  return { text, values };
}

/** Inserts several rows. */
export function insertStatement(table: string, rows: readonly (readonly Value[])[]): Statement {
  const values: BoundValue[] = [];
  const lists = rows.map((row) => `(${row.map((value) => parameterText(value, values)).join(', ')})`);
  return { text: `INSERT INTO ${table} VALUES ${lists.join(', ')}`, values };
}

function parameterText(value: BoundValue | null | undefined, values: BoundValue[]): string {
  if (value === undefined)
    throw new TypeError(
      'A parameter of the statement is undefined. This is a fault of Toolscript; please report it with this message.',
    );
  if (value === null) return 'NULL';
  values.push(value);
  return `$${values.length}::${parameterType(value)}`;
}

function parameterType(value: BoundValue): string {
  if (typeof value === 'number') return 'bigint';
  return typeof value === 'string' ? 'text' : 'bytea';
}
