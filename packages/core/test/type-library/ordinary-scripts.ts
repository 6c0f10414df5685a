/** Scripts as models write them, one for each part of the library: all of them check without errors. */
export const ORDINARY_SCRIPTS: Readonly<Record<string, string>> = {
  'tool results, filtered and counted': `
const { files } = await tools.listFiles({ path: 'src' });
const sources = files.filter((file: string) => file.endsWith('.ts'));
const counts: Record<string, number> = {};
for (const file of sources) {
  const folder = file.split('/').slice(0, -1).join('/') || '.';
  counts[folder] = (counts[folder] ?? 0) + 1;
}
return Object.entries(counts).sort(([, a], [, b]) => b - a).slice(0, 10);`,

  'a batch side by side': `
const ids = Array.from({ length: 5 }, (_, index) => index + 1);
const settled = await Promise.allSettled(ids.map((id) => tools.getUser({ id })));
const names: string[] = [];
for (const outcome of settled) {
  if (outcome.status === 'fulfilled') names.push(outcome.value.name);
  else console.warn('failed', outcome.reason?.message);
}
const [first, second] = await Promise.all([tools.a({}), Promise.resolve(2)]);
return { names, first, doubled: second * 2 };`,

  'errors are caught and told apart': `
try {
  await tools.writeFile({ path: 'a', content: 'b' });
} catch (error) {
  if (error instanceof ApprovalDeniedError) return { denied: error.message, code: error.code };
  console.error(error.message, error.stack);
  throw new Error('could not write', { cause: error });
}
return 'ok';`,

  'maps and sets': `
const byOwner = new Map<string, number[]>();
for (const [index, owner] of ['a', 'b', 'a'].entries()) {
  byOwner.set(owner, [...(byOwner.get(owner) ?? []), index]);
}
const unknown = new Map();
unknown.set('a', { b: 1 });
unknown.get('a').b;
const seen = new Set(byOwner.keys());
const others = seen.union(new Set(['c'])).difference(new Set(['a']));
const grouped = Object.groupBy([1, 2, 3], (value) => (value % 2 === 0 ? 'even' : 'odd'));
return { others: [...others], odd: grouped.odd?.length, size: byOwner.size, map: Object.fromEntries(byOwner) };`,

  'text and regular expressions': `
const text = 'id=1; name=x';
const pairs = [...text.matchAll(/(?<key>\\w+)=(?<value>\\w+)/g)].map((match) => [match.groups!.key, match.groups!.value]);
const title = text.replaceAll(';', ',').trim().padEnd(20).toUpperCase();
const found = /name=(\\w+)/d.exec(text);
const span = found?.indices?.[1];
return { pairs, title, span, at: text.at(-1), safe: new RegExp(RegExp.escape('a.b'), 'u').test('a.b') };`,

  'dates, numbers and money': `
const now = new Date();
const day = now.toISOString().slice(0, 10);
const words = now.toLocaleDateString('en-US', { weekday: 'long', month: 'short', day: 'numeric', timeZone: 'UTC' });
const price = (1234.5).toLocaleString('en-US', { style: 'currency', currency: 'USD', maximumFractionDigits: 0 });
const format = new Intl.NumberFormat('en-US', { notation: 'compact' });
const big = (2n ** 64n).toLocaleString('en-US');
const ago = new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(-1, 'day');
const list = new Intl.ListFormat('en', { type: 'conjunction' }).format(['a', 'b']);
const sorted = ['b', 'a'].toSorted(new Intl.Collator('en', { numeric: true }).compare);
return { day, words, price, short: format.format(12_000), big, ago, list, sorted, ms: Date.now() - now.getTime() };`,

  'addresses and bytes': `
const url = new URL('/search?q=a', 'https://example.com');
url.searchParams.append('page', '2');
for (const [name, value] of url.searchParams) console.log(name, value);
const query = new URLSearchParams({ q: 'a', limit: 10 }).toString();
const bytes = new TextEncoder().encode('text');
const back = new TextDecoder('utf-8').decode(bytes.subarray(0, 2));
const base64 = btoa(String.fromCharCode(...bytes));
const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
return { href: url.href, query, back, base64, hex, native: bytes.toBase64(), copy: structuredClone({ a: [1] }).a[0] };`,

  'generators and iterator helpers': `
function* numbers(limit: number) {
  for (let value = 0; value < limit; value++) yield value;
}
async function* pages() {
  let next: string | undefined = 'first';
  while (next !== undefined) {
    const page: { items: any[]; next?: string } = await tools.list({ cursor: next });
    yield* page.items;
    next = page.next;
  }
}
const even = numbers(10).filter((value) => value % 2 === 0).map((value) => value * 2).take(3).toArray();
const all: any[] = [];
for await (const item of pages()) all.push(item);
const more = await Array.fromAsync(pages());
const pairs = Iterator.zip([[1, 2], ['a', 'b']]).toArray();
return { even, all, more, letters: pairs.map(([, letter]) => letter.toUpperCase()), first: Iterator.from([1]).next().value };`,

  'classes, private fields and disposal': `
class Counter extends Map<string, number> {
  #total = 0;
  static readonly empty = new Counter();
  add(key: string, by = 1): this {
    this.#total += by;
    return this.set(key, (this.get(key) ?? 0) + by);
  }
  get total() { return this.#total; }
  [Symbol.dispose]() { this.clear(); }
}
class NotFound extends Error {
  constructor(readonly path: string, options?: ErrorOptions) {
    super(\`no \${path}\`, options);
    this.name = 'NotFound';
  }
}
class Range extends Iterator<number> {
  next() { return { done: true as const, value: undefined }; }
}
using counter = new Counter();
counter.add('a').add('b', 2);
const failure: unknown = new NotFound('x');
return { total: counter.total, path: failure instanceof NotFound ? failure.path : '', range: [...new Range()] };`,

  'objects, JSON and types': `
interface Row { id: number; tags?: string[]; readonly meta: Partial<Record<'size' | 'kind', string>> }
type Slim = Omit<Row, 'meta'> & { kind: NonNullable<Row['meta']['kind']> };
const rows: Row[] = JSON.parse('[]');
const slim: Slim[] = rows.map(({ meta, ...rest }) => ({ ...rest, kind: meta.kind ?? 'none' }));
const keys = Object.keys(rows[0] ?? {}) as (keyof Row)[];
const frozen = Object.freeze({ a: 1, nested: { b: 2 } });
const text = JSON.stringify({ slim, keys }, (key, value) => (key === 'id' ? undefined : value), 2);
const handler = new Proxy({ a: 1 } as Record<string, number>, { get: (target, key) => Reflect.get(target, key) ?? 0 });
const copy = Object.assign({}, frozen, { c: 3 });
return { text, a: handler.a, sum: copy.a + copy.c, own: Object.hasOwn(copy, 'a') };`,

  'the globals of a script': `
const hits = await catalog.search('files', { limit: 3 });
text(\`found \${hits.length}\`);
emit(hits.map(({ name }) => name));
await sleep(10);
context.emitProgress('working', 'info');
const left = context.sandbox.remainingToolBudget;
const started = performance.now();
queueMicrotask(() => console.debug('later'));
return { left, ms: performance.now() - started, folder: context.workingDirectory, typed: typeof globalThis };`,

  'numbers and typed arrays': `
const data = new Float64Array([1, 2, 3]);
const view = new DataView(data.buffer);
view.setUint16(0, 65_535, true);
const ints = Uint8Array.from(data, (value) => value & 255);
const mean = Math.sumPrecise(data) / data.length;
const { max, min, hypot } = Math;
const words = new BigUint64Array(2).fill(1n).map((word) => word << 2n);
const sorted = data.toSorted((a, b) => b - a);
return { mean, max: max(...data), min: min(...ints), norm: hypot(3, 4), word: Number(words[0]), top: sorted[0], ok: Number.isSafeInteger(5) };`,

  'promises by hand': `
const { promise, resolve, reject } = Promise.withResolvers<string>();
const timeout = sleep(100).then(() => { throw new Error('too slow'); });
Promise.try(() => tools.slow({})).then((value) => resolve(String(value)), reject);
const value = await Promise.race([promise, timeout]);
const any = await Promise.any([promise, Promise.resolve(1)]);
return [value.length, any].flat();`,

  'plain JavaScript without types': `
const results = [];
for (let i = 0; i < 3; i++) results.push(await tools.step({ i }));
const total = results.reduce((sum, result) => sum + result.count, 0);
const labels = results.map((result, i) => i + ': ' + result.label).join('\\n');
const by = results.reduce((all, result) => { (all[result.kind] ||= []).push(result); return all; }, {});
return { total, labels, by, isNumber: !isNaN(parseFloat('1.5')), path: encodeURIComponent('a b') };`,
};
