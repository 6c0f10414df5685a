import { configDefaults, defineConfig } from 'vitest/config';

/**
 * Campaigns, which kill processes, take what a machine has, or drive a browser or a terminal; and laws of services and
 * of started programs. `npm test` leaves them out unless `CI` is set.
 */
const SLOW = [
  'packages/server/test/{chaos,crash}/**/*.test.ts',
  'packages/server/test/stores/{postgres,redis}/**/*.test.ts',
  'packages/server/test/stores/{conformance,files,full-disk,same-answers}.test.ts',
  'packages/{core,server}/test/stores/processes.test.ts',
  'packages/client/test/rolling-restart.test.ts',
  'packages/core/test/{mutants,soak}/**/*.test.ts',
  'packages/core/test/suspension/{kills,processes}.test.ts',
  'packages/core/test/hostile/bridge-fuzz.test.ts',
  'packages/tools/test/{files/{processes,race},exec/{sandbox,sandbox-*,scarcity},stall,race/race}.test.ts',
  'packages/cli/test/{start,serve/*,approvals/ask,chat/conversation,chat/waiting}.test.ts',
  'packages/web/test/*.test.ts',
  'examples/**/*.test.ts',
  'scripts/test/{mcp-clients,packages,running-pages}.test.ts',
  'bench/test/economy*.test.ts',
];

/** Campaigns do more work in each test. */
const SLOW_TIMEOUT_MS = 300_000;

/** Slow ones whose files share processes, like `SHARED`. */
const SLOW_SHARED = [
  'packages/core/test/agent/{mutated-streams,same-history-laws}.test.ts',
  'packages/core/test/corpus/habits.test.ts',
  'packages/core/test/hostile/hostile.test.ts',
  'packages/core/test/providers/published-schemas.test.ts',
  'packages/core/test/sandbox/{captures,slow-lane}.test.ts',
  'packages/core/test/stores/file-lock.test.ts',
  'packages/core/test/tools/{declaration-laws,schema-agreement}.test.ts',
  'packages/core/test/type-checker/pool.test.ts',
  'packages/cli/test/approvals/{always,server-form,suspend}.test.ts',
  'packages/cli/test/chat/{agents,final-answer,one-prompt,recover,sub-agents-and-files,threads}.test.ts',
  'packages/cli/test/commands/{keys,missing-places,other-commands,run,snippets}.test.ts',
  'packages/cli/test/configuration/configuration.test.ts',
  'packages/cli/test/mcp/*.test.ts',
  'packages/cli/test/threads/import.test.ts',
  'packages/mcp/test/{gateway,hostile-server,reference-servers,trust}.test.ts',
  'packages/tools/test/{patch/diffs,search/few-descriptors,undo/undo}.test.ts',
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
        test: {
          name: 'shared',
          include: SHARED,
          exclude: [...configDefaults.exclude, ...SLOW, ...SLOW_SHARED],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'slow', include: SLOW, testTimeout: SLOW_TIMEOUT_MS } },
      {
        extends: true,
        test: { name: 'slow-shared', include: SLOW_SHARED, isolate: false, testTimeout: SLOW_TIMEOUT_MS },
      },
      {
        extends: true,
        test: {
          name: 'isolated',
          include: ['packages/*/test/**/*.test.ts', 'scripts/**/*.test.ts', 'bench/test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...SHARED, ...SLOW, ...SLOW_SHARED],
        },
      },
    ],
  },
});
