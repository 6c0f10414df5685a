import { configDefaults, defineConfig } from 'vitest/config';

/** Campaigns: they kill processes, take what a machine has, drive a browser or a terminal, or start a program for each case. */
const SLOW = [
  'packages/server/test/{chaos,crash}/**/*.test.ts',
  'packages/{core,server}/test/stores/processes.test.ts',
  'packages/client/test/rolling-restart.test.ts',
  'packages/core/test/{mutants,soak}/**/*.test.ts',
  'packages/core/test/suspension/{kills,processes}.test.ts',
  'packages/core/test/hostile/bridge-fuzz.test.ts',
  'packages/tools/test/{files/{processes,race},exec/scarcity,stall,race/race}.test.ts',
  'packages/cli/test/{start,serve/*,approvals/ask,chat/conversation,chat/waiting}.test.ts',
  'packages/web/test/*.test.ts',
  'examples/**/*.test.ts',
  'scripts/test/running-pages.test.ts',
];

/** Their files share processes: starting one, and loading what is tested, costs more than most of them. */
const SHARED = [
  'packages/{client,core,mcp}/test/**/*.test.ts',
  // The OS sandbox of a process has one set of rules, and the tests of exec need several.
  'packages/tools/test/!(exec|files)/**/*.test.ts',
  'packages/tools/test/*.test.ts',
  'packages/cli/test/{approvals,commands,configuration,input,mcp,terminal,threads,view}/**/*.test.ts',
  'packages/cli/test/chat/!(conversation|waiting).test.ts',
  'packages/server/test/{http,observability,projections,responses,runs}/**/*.test.ts',
];

export default defineConfig({
  test: {
    setupFiles: ['scripts/test/memory-folder.ts'],
    // Node loads built code by itself; Vitest would transform all of it again for each file of tests.
    server: { deps: { external: [/\/packages\/[^/]+\/dist\//] } },
    pool: 'forks',
    // More than 2 processors: many tests wait for processes and timers.
    maxWorkers: 3,
    // No test measures time; a busy machine takes as long as it takes.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    // Machines of CI are shared: what fails there once is tried once more, and marked in the report. Mend what is marked.
    retry: process.env.CI === undefined ? 0 : 1,
    projects: [
      {
        extends: true,
        test: { name: 'shared', include: SHARED, exclude: [...configDefaults.exclude, ...SLOW], isolate: false },
      },
      { extends: true, test: { name: 'slow', include: SLOW } },
      {
        extends: true,
        test: {
          name: 'isolated',
          include: ['packages/*/test/**/*.test.ts', 'scripts/**/*.test.ts', 'bench/test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...SHARED, ...SLOW],
        },
      },
    ],
  },
});
