import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

// The long version is `npm run soak`.
it('three thousand scripts of every kind leave no growth, no unhandled rejection and nothing open', () => {
  const script = fileURLToPath(new URL('soak.mjs', import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', script, '3000'], {
    encoding: 'utf8',
    timeout: 290_000,
  });
  expect(stderr).toBe('');
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ scripts: 3000, unheard: 0 });
});
