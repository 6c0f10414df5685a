import { configDefaults, defineConfig } from 'vitest/config';

/**
 * Campaigns, which kill processes, take what a machine has, or drive a browser or a terminal; and laws of services and
 * of started programs. `npm test` leaves them out unless `CI` is set.
 */
const SLOW = '**/*.slow.test.ts';

/**
 * Laws of the operating system's sandbox: each of these files has a process of its own, because the sandbox depends on
 * the process's temporary folder, mask and environment, which other files change.
 */
const SANDBOXED = ['packages/tools/test/exec/**/*.test.ts', 'packages/tools/test/files/product-folders.test.ts'];

/** Campaigns do more work in each test. */
const SLOW_TIMEOUT_MS = 300_000;

const settings = {
  setupFiles: ['packages/testkit/src/memory-folder.ts', 'packages/testkit/src/property-seed.ts'],
  // Node loads built code by itself; Vitest would transform all of it again for each file of tests.
  server: { deps: { external: [/\/packages\/[^/]+\/dist\//] } },
  pool: 'forks' as const,
  // Test files share processes: starting one, and loading what is tested, costs more than most of them.
  isolate: false,
  // No test measures time; a busy machine takes as long as it takes.
  testTimeout: 90_000,
  hookTimeout: 90_000,
  expect: { poll: { timeout: 60_000 } },
};

export default defineConfig({
  test: {
    // More than 2 processors: many tests wait for processes and timers. Not in `settings`, where it would be stronger than `--maxWorkers`.
    maxWorkers: 3,
    reporters: ['default', './scripts/failed-tests.mjs'],
    projects: [
      {
        test: {
          ...settings,
          name: 'fast',
          include: ['packages/*/test/**/*.test.ts', '{examples,scripts,bench}/**/*.test.ts'],
          exclude: [...configDefaults.exclude, SLOW, ...SANDBOXED],
        },
      },
      {
        test: {
          ...settings,
          name: 'fast-sandboxed',
          isolate: true,
          include: SANDBOXED,
          exclude: [...configDefaults.exclude, SLOW],
        },
      },
      {
        test: {
          ...settings,
          name: 'slow',
          include: [SLOW],
          exclude: [...configDefaults.exclude, ...SANDBOXED],
          testTimeout: SLOW_TIMEOUT_MS,
        },
      },
      {
        test: {
          ...settings,
          name: 'slow-sandboxed',
          isolate: true,
          include: ['packages/tools/test/exec/**/*.slow.test.ts'],
          testTimeout: SLOW_TIMEOUT_MS,
        },
      },
      // The laws of suspension once more, with a user who never decides. Some timers of the laws about timers are shorter
      // than a second.
      ...[0, 1, 1_000].map((ms) => ({
        test: {
          ...settings,
          name: `slow-suspended-after-${ms}`,
          include: ['packages/core/test/suspension/**/*.test.ts'],
          exclude: [...configDefaults.exclude, SLOW, ...(ms < 1_000 ? [] : ['**/timers.test.ts'])],
          env: { TOOLSCRIPT_TEST_SUSPEND_AFTER_MS: String(ms) },
          testTimeout: SLOW_TIMEOUT_MS,
        },
      })),
    ],
  },
});
