// style: over-typed TypeScript
type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

const depth = (node: Json): number => {
  if (Array.isArray(node)) return 1 + Math.max(0, ...node.map(depth));
  if (node !== null && typeof node === 'object') return 1 + Math.max(0, ...Object.values(node).map(depth));
  return 0;
};

const report = JSON.parse(await tools.reports.legacy({ name: 'deep' })) as Json;
return { depth: depth(report), title: (report as any).sections[0].title };
