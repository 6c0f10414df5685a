// style: type alias any tool
type Page = { items: { id: number }[] }; const p = (await tools.fetchPage({ url: 'https://x' })).body as Page; return [p.items.map((i) => i.name), p.next];
