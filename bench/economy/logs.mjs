/** Four logs of a service, and the questions about them. */
const ENDPOINTS = ['/orders', '/orders/search', '/users', '/users/login', '/images', '/health'];
const LINES = 300;

const failedLines = [];
export const LOGS = Object.fromEntries(
  ['mon', 'tue', 'wed', 'thu'].map((day, index) => [`logs/${day}.log`, logOf(index)]),
);
/** The lines of requests that failed with 5xx. */
export const FAILED_LINES = failedLines;

export const FAILURES = {};
for (const line of failedLines) {
  const endpoint = line.split(' ')[2];
  FAILURES[endpoint] = (FAILURES[endpoint] ?? 0) + 1;
}

export const ASK = 'How many requests failed with a status of 5xx in logs/*.log, for each endpoint?';
export const ANSWER = `${Object.entries(FAILURES)
  .map(([endpoint, count]) => `${endpoint}: ${count}`)
  .join(', ')}.`;

export const SCRIPT = String.raw`
const { matches = [] } = await tools.grepFiles({ pattern: ' 5\\d\\d ', path: 'logs', matches: true, limit: 2000 });
const failures: Record<string, number> = {};
for (const { text } of matches) {
  const endpoint = text.split(' ')[2]!;
  failures[endpoint] = (failures[endpoint] ?? 0) + 1;
}
return failures;`;

function logOf(day) {
  const lines = Array.from({ length: LINES }, (_, index) => {
    const mixed = (index * 7_919 + day * 104_729) % 1_000;
    const status = mixed < 60 ? [500, 502, 503][mixed % 3] : mixed < 110 ? 404 : 200;
    const time = `${String(8 + Math.floor(index / 60)).padStart(2, '0')}:${String(index % 60).padStart(2, '0')}:${String(mixed % 60).padStart(2, '0')}`;
    const line = `${time} GET ${ENDPOINTS[(index * index + day + mixed) % ENDPOINTS.length]} ${status} ${20 + (mixed % 700)}ms`;
    if (status >= 500) failedLines.push(line);
    return line;
  });
  return `${lines.join('\n')}\n`;
}
