/** The kinds of files, by the ends of their names or their content types. */
const TYPES: readonly (readonly [title: string, pattern: RegExp])[] = [
  ['Web pages', /^text\/html|\.html?$/u],
  ['Data', /^(?:application\/json|text\/csv)|\.(?:json|jsonl|csv|tsv|ya?ml|xml)$/u],
  ['Code', /\.(?:[cm]?[jt]sx?|py|go|rs|java|c|h|cpp|cs|rb|php|sh|sql|css)$/u],
];

interface TypedFile {
  readonly fileKey: string;
  readonly contentType?: string | undefined;
  readonly source?: { readonly kind: string } | undefined;
}

/** The files by type, each group in the order of the list. */
export function fileGroups<File extends TypedFile>(files: readonly File[]): readonly (readonly [string, File[]])[] {
  const groups = new Map<string, File[]>();
  for (const title of [...TYPES.map(([name]) => name), 'Texts']) groups.set(title, []);
  for (const file of files) groups.get(typeTitle(file))!.push(file);
  return [...groups].filter(([, members]) => members.length > 0);
}

function typeTitle({ fileKey, contentType = '', source }: TypedFile): string {
  if (source?.kind === 'web') return 'Web pages';
  const name = fileKey.toLowerCase();
  return TYPES.find(([, pattern]) => pattern.test(contentType) || pattern.test(name))?.[0] ?? 'Texts';
}
