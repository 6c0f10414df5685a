export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

/** A table with more columns than this is unreadable. */
const MAX_COLUMNS = 12;

/** An array of records as a table; undefined for any other value. */
export function recordTable(value: unknown): Table | undefined {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isRecord)) return undefined;
  const columns = [...new Set(value.flatMap((row) => Object.keys(row)))];
  if (columns.length === 0 || columns.length > MAX_COLUMNS) return undefined;
  return { columns, rows: value.map((row) => columns.map((column) => row[column])) };
}

/** The tables in a value: the value itself, or the members of a record, but no deeper ones. */
export function tablesIn(value: unknown): { readonly name: string; readonly table: Table }[] {
  const whole = recordTable(value);
  if (whole !== undefined) return [{ name: '', table: whole }];
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const table = recordTable(member);
    return table === undefined ? [] : [{ name, table }];
  });
}

export interface ValueImage {
  readonly mediaType: string;
  readonly data?: string | undefined;
  readonly path?: string | undefined;
  /** The SHA-256 of the image's bytes, in hex. */
  readonly sha256?: string | undefined;
}

/** The types of images that models and this page accept. */
export const IMAGE_TYPES: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/** The images in a value, to a depth of 12 levels. */
export function imagesIn(value: unknown, depth = 0): ValueImage[] {
  if (depth > 12 || typeof value !== 'object' || value === null) return [];
  const { type, mediaType, media_type: snake, data, path, sha256 } = value as Record<string, unknown>;
  const media = mediaType ?? snake;
  if (type === 'image' && typeof media === 'string' && IMAGE_TYPES.includes(media)) {
    const bytes = typeof data === 'string' && /^[A-Za-z0-9+/=]+$/u.test(data) ? { data } : {};
    return [{ mediaType: media, ...bytes, ...texts({ path, sha256 }) }];
  }
  return Object.values(value).flatMap((member) => imagesIn(member, depth + 1));
}

function texts(members: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(members).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
