import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

// Without /proc the checks are weaker, and this law is not certain.
it.runIf(process.platform === 'linux')(
  'no tool leaves the workspace while files and folders are swapped 100 000 times; npm run race makes as many calls',
  () => {
    const script = fileURLToPath(new URL('race.mjs', import.meta.url));
    const line = execFileSync(process.execPath, [script, '100000', '3000'], { encoding: 'utf8', timeout: 290_000 });
    const totals = JSON.parse(line) as Record<string, number>;
    expect(totals['escapes']).toBe(0);
    expect(totals['swaps']).toBeGreaterThanOrEqual(100_000);
    expect(totals['caughtControl']).toBeGreaterThan(0);
    expect(totals['succeeded']).toBeGreaterThan(0);
    expect(totals['refused']).toBeGreaterThan(0);
  },
);
