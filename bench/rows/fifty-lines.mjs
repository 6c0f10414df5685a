/** The input of the script below. */
export const FILES = {
  'alpha.ts': ['const a = 1;', '// TODO: name it', 'export { a };'],
  'beta.ts': ['export const b = 2; // FIXME', 'export const c = 3;'],
  'gamma.ts': ['export {};'],
  'delta.ts': ['// TODO', '// TODO: again', '// TODO: and again'],
  'epsilon.md': ['not a source file'],
};

/** A script of 50 lines of TypeScript as models write them, with 8 tool calls. Each variant has a different source. */
export function fiftyLines(variant) {
  return `// Summarises what is left to do, variant ${variant}.
type Hit = { file: string; line: number; text: string };

interface Summary {
  variant: number;
  total: number;
  files: string[];
  found: string[];
  top: { file: string; count: number; first: string }[];
  errors: { name: string; message: string }[];
}

// Only sources count.
const root = 'src';
const listing = await tools.listDir({ path: root });
const names: string[] = listing.names.filter((name: string) => name.endsWith('.ts'));
const hits: Hit[] = [];
const errors: Summary['errors'] = [];

for (const name of names) {
  try {
    const { lines } = await tools.readFile({ path: \`\${root}/\${name}\`, limit: ${100 + variant} });
    lines.forEach((text: string, index: number) => {
      if (/TODO|FIXME/.test(text)) hits.push({ file: name, line: index + 1, text: text.trim() });
    });
  } catch (error) {
    errors.push({ name, message: (error as Error).message });
  }
}

const byFile = new Map<string, Hit[]>();
for (const hit of hits) {
  const known = byFile.get(hit.file) ?? [];
  byFile.set(hit.file, [...known, hit]);
}

const top = [...byFile]
  .sort(([, first], [, second]) => second.length - first.length)
  .slice(0, 2)
  .map(([file, found]) => ({ file, count: found.length, first: found[0]?.text ?? '' }));

const searches = await Promise.all(['one', 'two', 'three'].map((query) => tools.fileSearch({ query })));
const found = searches.flatMap(({ files }) => files as string[]);

const summary: Summary = { variant: ${variant}, total: hits.length, files: [...byFile.keys()], found, top, errors };
console.log(\`\${summary.total} left in \${summary.files.length} files\`);
if (summary.total > 100) {
  console.warn('too many', summary.total);
}
return summary;
`;
}

/** The value that the script returns. */
export function summaryOf(variant) {
  return {
    variant,
    total: 5,
    files: ['alpha.ts', 'beta.ts', 'delta.ts'],
    found: ['one.ts', 'two.ts', 'three.ts'],
    top: [
      { file: 'delta.ts', count: 3, first: '// TODO' },
      { file: 'alpha.ts', count: 1, first: '// TODO: name it' },
    ],
    errors: [],
  };
}
