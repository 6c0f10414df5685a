import { defineTool } from '#core/index.js';
import { z } from 'zod';

const CITIES: Readonly<Record<string, number>> = { Oslo: 4, Lima: 19, Cairo: 31, Quito: 14 };

const Event = z.object({
  id: z.string(),
  title: z.string(),
  start: z.string(),
  end: z.string(),
  location: z.string().optional(),
  attendees: z.array(z.object({ email: z.string(), response: z.enum(['yes', 'no', 'maybe']).nullable() })),
});

type Event = z.infer<typeof Event>;

function events(): Event[] {
  return [
    ['Standup', 9, 15, 'yes'],
    ['Review', 11, 60, null],
    ['Lunch', 12, 45, 'maybe'],
    ['Planning', 14, 90, 'no'],
  ].map(([title, hour, minutes, response], index) => {
    const start = Date.UTC(2024, 4, 6 + (index % 2), Number(hour));
    const made = {
      id: `e${index + 1}`,
      title: String(title),
      start: new Date(start).toISOString(),
      end: new Date(start + Number(minutes) * 60_000).toISOString(),
      attendees: [
        { email: 'ada@acme.example', response: 'yes' as const },
        { email: 'bob@acme.example', response: response as 'yes' | 'no' | 'maybe' | null },
      ].slice(0, index === 2 ? 0 : 2),
    };
    return index % 2 === 0 ? made : { ...made, location: `Room ${index}` };
  });
}

/** Weather, calendar, jobs, key-value store, pages and sums. */
export function serviceTools() {
  return [...weatherTools(), ...calendarTools(), ...computingTools(), ...storeTools(), ...remoteTools()];
}

function weatherTools() {
  const degrees = (city: string): number => {
    const celsius = CITIES[city];
    if (celsius === undefined) throw new Error(`unknown city: ${city}`);
    return celsius;
  };
  return [
    defineTool({
      name: 'getWeather',
      description: 'Current weather of a city.',
      effect: 'read',
      approval: 'never',
      input: z.object({ city: z.string(), units: z.enum(['metric', 'imperial']).optional() }),
      output: z.object({
        city: z.string(),
        celsius: z.number(),
        condition: z.enum(['sunny', 'cloudy', 'rain']),
        wind: z.object({ speed: z.number(), direction: z.string() }),
        alerts: z.array(z.string()).optional(),
      }),
      execute: ({ city }) => {
        const celsius = degrees(city);
        const report = {
          city,
          celsius,
          condition: celsius > 25 ? ('sunny' as const) : celsius > 10 ? ('cloudy' as const) : ('rain' as const),
          wind: { speed: celsius / 2 + 1, direction: 'NW' },
        };
        return city === 'Cairo' ? { ...report, alerts: ['heat'] } : report;
      },
    }),
    defineTool({
      name: 'getForecast',
      description: 'Forecast of the next days.',
      effect: 'read',
      approval: 'never',
      input: z.object({ city: z.string(), days: z.number().int().min(1).max(7) }),
      output: z.object({
        city: z.string(),
        days: z.array(z.object({ date: z.string(), high: z.number(), low: z.number(), rain: z.number().nullable() })),
      }),
      execute: ({ city, days }) => ({
        city,
        days: Array.from({ length: days }, (_, index) => ({
          date: `2024-05-0${index + 1}`,
          high: degrees(city) + index,
          low: degrees(city) - 6 + (index % 2),
          rain: index % 3 === 0 ? null : index / 10,
        })),
      }),
    }),
  ];
}

function calendarTools() {
  const all = events();
  return [
    defineTool({
      name: 'calendar.listEvents',
      description: 'Events between two dates (YYYY-MM-DD).',
      effect: 'read',
      approval: 'never',
      input: z.object({ from: z.string(), to: z.string(), calendarId: z.string().optional() }),
      output: z.object({ events: z.array(Event) }),
      execute: ({ from, to }) => ({
        events: all.filter(({ start }) => start.slice(0, 10) >= from && start.slice(0, 10) <= to),
      }),
    }),
    defineTool({
      name: 'calendar.createEvent',
      description: 'Makes an event.',
      effect: 'write',
      approval: 'never',
      input: z.object({
        title: z.string(),
        start: z.string(),
        end: z.string(),
        attendees: z.array(z.string()).optional(),
        location: z.string().optional(),
      }),
      output: z.object({ id: z.string(), link: z.string() }),
      execute: ({ title, start, end, attendees = [] }) => {
        const id = `e${all.length + 1}`;
        all.push({ id, title, start, end, attendees: attendees.map((email) => ({ email, response: null })) });
        return { id, link: `https://calendar.example/${id}` };
      },
    }),
    defineTool({
      name: 'calendar.freeBusy',
      description: 'When people are busy on a date.',
      effect: 'read',
      approval: 'never',
      input: z.object({ emails: z.array(z.string()), date: z.string() }),
      output: z.object({ busy: z.record(z.string(), z.array(z.object({ start: z.string(), end: z.string() }))) }),
      execute: ({ emails, date }) => ({
        busy: Object.fromEntries(
          emails.map((email) => [
            email,
            all
              .filter(({ start, attendees }) => start.startsWith(date) && attendees.some((one) => one.email === email))
              .map(({ start, end }) => ({ start, end })),
          ]),
        ),
      }),
    }),
  ];
}

function computingTools() {
  return [
    defineTool({
      name: 'calculate',
      description: 'Adds, subtracts, multiplies or divides two numbers written as "a + b".',
      effect: 'read',
      approval: 'never',
      input: z.object({ expression: z.string() }),
      output: z.object({ result: z.number() }),
      execute: ({ expression }) => {
        const [left = '', sign = '', right = ''] = expression.trim().split(/\s+/u);
        const [a, b] = [Number(left), Number(right)];
        if (sign === '+') return { result: a + b };
        if (sign === '-') return { result: a - b };
        if (sign === '*') return { result: a * b };
        if (sign === '/' && b !== 0) return { result: a / b };
        throw new Error(`cannot calculate: ${expression}`);
      },
    }),
    defineTool({
      name: 'stats.describe',
      description: 'Mean, least and greatest of numbers.',
      effect: 'read',
      approval: 'never',
      input: z.object({ values: z.array(z.number()).min(1) }),
      output: z.object({ mean: z.number(), min: z.number(), max: z.number(), count: z.number() }),
      execute: ({ values }) => ({
        mean: values.reduce((sum, value) => sum + value, 0) / values.length,
        min: Math.min(...values),
        max: Math.max(...values),
        count: values.length,
      }),
    }),
    defineTool({
      name: 'parseCsv',
      description: 'Reads CSV: an array of objects, or of arrays where header is false.',
      effect: 'read',
      approval: 'never',
      input: z.object({ text: z.string(), header: z.boolean().default(true), delimiter: z.string().default(',') }),
      execute: ({ text, header, delimiter }) => {
        const rows = text
          .trim()
          .split('\n')
          .map((line) => line.split(delimiter));
        if (!header) return rows;
        const [names = [], ...rest] = rows;
        return rest.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]])));
      },
    }),
    defineTool({
      name: 'translate',
      description: 'Translates a text.',
      effect: 'read',
      approval: 'never',
      input: z.object({ text: z.string(), to: z.enum(['de', 'fr', 'es']), from: z.string().optional() }),
      output: z.object({ text: z.string(), detected: z.string().optional() }),
      execute: ({ text, to, from }) =>
        from === undefined ? { text: `[${to}] ${text}`, detected: 'en' } : { text: `[${to}] ${text}` },
    }),
    defineTool({
      name: 'now',
      description: 'The time of this world.',
      effect: 'read',
      approval: 'never',
      output: z.object({ iso: z.string(), epochMs: z.number() }),
      execute: () => ({ iso: '2024-05-06T07:30:00.000Z', epochMs: Date.UTC(2024, 4, 6, 7, 30) }),
    }),
  ];
}

function storeTools() {
  const store = new Map<string, unknown>([
    ['settings', { theme: 'dark', flags: { beta: true } }],
    ['counter', 41],
    ['names', ['ada', 'bob']],
  ]);
  return [
    defineTool({
      name: 'kv.get',
      description: 'The value of a key; null where there is none.',
      effect: 'read',
      approval: 'never',
      input: z.object({ key: z.string() }),
      execute: ({ key }) => store.get(key) ?? null,
    }),
    defineTool({
      name: 'kv.set',
      description: 'Stores any JSON value.',
      effect: 'write',
      approval: 'never',
      input: z.object({ key: z.string(), value: z.unknown(), ttlSeconds: z.number().optional() }),
      output: z.object({ ok: z.literal(true), replaced: z.boolean() }),
      execute: ({ key, value }) => {
        const replaced = store.has(key);
        store.set(key, value);
        return { ok: true as const, replaced };
      },
    }),
    defineTool({
      name: 'kv.list',
      description: 'Names of the keys.',
      effect: 'read',
      approval: 'never',
      input: z.object({ prefix: z.string().optional() }),
      output: z.object({ keys: z.array(z.string()) }),
      execute: ({ prefix = '' }) => ({ keys: [...store.keys()].filter((key) => key.startsWith(prefix)) }),
    }),
  ];
}

const STATES = ['queued', 'running', 'done'] as const;

function remoteTools() {
  const attempts = new Map<string, number>();
  const polls = new Map<string, number>();
  return [
    defineTool({
      name: 'unstable',
      description: 'Fails as often as it is told to, then works. Counts for each key.',
      effect: 'external',
      approval: 'never',
      input: z.object({ key: z.string(), failures: z.number().default(1) }),
      output: z.object({ attempt: z.number(), value: z.string() }),
      execute: ({ key, failures }) => {
        const attempt = (attempts.get(key) ?? 0) + 1;
        attempts.set(key, attempt);
        if (attempt <= failures) throw new Error(`503 try again (${key})`);
        return { attempt, value: key.toUpperCase() };
      },
    }),
    defineTool({
      name: 'jobs.start',
      description: 'Starts a job that is then asked about with jobs.status.',
      effect: 'external',
      approval: 'never',
      input: z.object({
        kind: z.enum(['export', 'import', 'broken']),
        payload: z.record(z.string(), z.unknown()).optional(),
      }),
      output: z.object({ jobId: z.string() }),
      execute: ({ kind }) => {
        const jobId = `${kind}-${polls.size + 1}`;
        polls.set(jobId, 0);
        return { jobId };
      },
    }),
    defineTool({
      name: 'jobs.status',
      description: 'How far a job is. A job is done when it was asked about three times.',
      effect: 'read',
      approval: 'never',
      input: z.object({ jobId: z.string() }),
      output: z.object({
        jobId: z.string(),
        state: z.enum(['queued', 'running', 'done', 'failed']),
        progress: z.number(),
        result: z.object({ rows: z.number(), url: z.string() }).optional(),
        error: z.string().optional(),
      }),
      execute: ({ jobId }) => {
        const asked = polls.get(jobId);
        if (asked === undefined) throw new Error(`no job ${jobId}`);
        polls.set(jobId, asked + 1);
        const progress = Math.min(asked * 50, 100);
        if (jobId.startsWith('broken') && asked > 0)
          return { jobId, state: 'failed' as const, progress, error: 'bad input' };
        const state = STATES[Math.min(asked, 2)] ?? 'done';
        return state === 'done'
          ? { jobId, state, progress, result: { rows: 250, url: `https://files.example/${jobId}` } }
          : { jobId, state, progress };
      },
    }),
    defineTool({
      name: 'fetchPage',
      description: 'Gets a page: { status, headers, body: { items, next } }. Give next as cursor for the next one.',
      effect: 'external',
      approval: 'never',
      input: z.object({ url: z.string(), cursor: z.string().nullish() }),
      execute: ({ url, cursor }) => {
        if (!url.startsWith('https://')) return { status: 400, headers: {}, body: { message: 'bad url' } };
        const page = Number(cursor ?? 0);
        return {
          status: 200,
          headers: { 'content-type': 'application/json', 'x-page': String(page) },
          body: {
            items: [0, 1, 2].map((index) => ({
              id: page * 3 + index,
              name: `item ${page * 3 + index}`,
              price: index + 0.5,
            })),
            next: page < 2 ? String(page + 1) : null,
          },
        };
      },
    }),
    defineTool({
      name: 'metrics.query',
      description: 'A time series: { series: [{ labels, points: [time, value][] }] }.',
      effect: 'read',
      approval: 'never',
      input: z.object({ name: z.string(), minutes: z.number().default(5) }),
      execute: ({ name, minutes }) => ({
        series: ['eu', 'us'].map((region, offset) => ({
          labels: { name, region },
          points: Array.from({ length: minutes }, (_, index) => [index * 60, (index * 3 + offset * 2) % 7]),
        })),
      }),
    }),
    defineTool({
      name: 'search.web',
      description: 'Searches the web.',
      effect: 'external',
      approval: 'never',
      input: z.object({
        query: z.string(),
        limit: z.number().int().default(3),
        filters: z.object({ site: z.string().optional(), since: z.string().optional() }).optional(),
      }),
      output: z.object({
        results: z.array(
          z.object({ title: z.string(), url: z.string(), snippet: z.string().optional(), score: z.number() }),
        ),
        total: z.number(),
      }),
      execute: ({ query, limit, filters }) => {
        const all = ['intro', 'guide', 'reference', 'blog', 'forum'].map((kind, index) => {
          const hit = {
            title: `${query} ${kind}`,
            url: `https://${filters?.site ?? `${kind}.example`}/${encodeURIComponent(query)}`,
            score: 1 - index / 5,
          };
          return index % 2 === 0 ? { ...hit, snippet: `All about ${query}` } : hit;
        });
        return { results: query === '' ? [] : all.slice(0, limit), total: query === '' ? 0 : all.length };
      },
    }),
  ];
}
