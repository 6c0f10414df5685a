// line: 13
// about: put
const index = new Map<string, string[]>();
const { entries } = await tools.listDir({ recursive: true });

for (const entry of entries) {
  if (entry.type === 'directory') continue;
  const { content } = await tools.readFile({ filePath: entry.path });
  const words = content.toLowerCase().match(/[a-z]{4,}/g) ?? [];
  for (const word of new Set(words)) {
    const paths = index.get(word) ?? [];
    paths.push(entry.path);
    index.put(word, paths);
  }
}

const common = [...index].filter(([, paths]) => paths.length > 2);
return common.map(([word]) => word).sort();
