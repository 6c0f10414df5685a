// style: over-typed TypeScript
function groupBy<T, K extends PropertyKey>(items: readonly T[], key: (item: T) => K): Record<K, T[]> {
  return items.reduce(
    (groups, item) => {
      (groups[key(item)] ||= []).push(item);
      return groups;
    },
    {} as Record<K, T[]>,
  );
}

const { entries } = await tools.listDir({ recursive: true });
const groups = groupBy(entries, (entry) => entry.type);
return Object.fromEntries(Object.entries(groups).map(([type, members]) => [type, members.length]));
