import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/**
 * The files that may compute with the system's time, because another process or the file system wrote the other time.
 * `stores` and `durable-files` contain only such times.
 */
const BETWEEN_PROCESSES = new Set([
  'packages/cli/src/chat/run-command.ts',
  'packages/cli/src/commands/keys.ts',
  'packages/cli/src/commands/runs.ts',
  'packages/cli/src/commands/threads.ts',
  'packages/cli/src/state/persistent-state.ts',
  'packages/core/src/agent/sub-agents/child-run.ts',
  'packages/core/src/agent/sub-agents/run-agents.ts',
  'packages/core/src/calls/approvals/gate.ts',
  'packages/core/src/calls/facade/large-results.ts',
  'packages/core/src/calls/session/session-clocks.ts',
  'packages/mcp/src/gateway/script-tools.ts',
  'packages/server/src/observability/store-gauges.ts',
  'packages/service/src/runs/run-cleaner.ts',
  'packages/tools/src/cabinet/documents.ts',
  'packages/tools/src/web/cache.ts',
]);

const ARITHMETIC = /Date\.now\(\)\s*[-+<>]|(?:[-+<]|(?<!=)>)=?\s*Date\.now\(\)/u;

const sources = ['core', 'isolated-vm', 'tools', 'mcp', 'service', 'server', 'client', 'cli'].flatMap((name) => {
  const folder = `packages/${name}/src/`;
  const paths = readdirSync(new URL(`../../${folder}`, import.meta.url), { recursive: true, encoding: 'utf8' });
  return paths.filter((path) => path.endsWith('.ts')).map((path) => folder + path.replaceAll('\\', '/'));
});
const EXEMPT = /^packages\/core\/src\/(?:stores|durable-files|testing)\//u;

it('durations are measured by the monotonic clock, never by the system’s time', () => {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const found = sources.filter((path) => !EXEMPT.test(path) && ARITHMETIC.test(read(path)));
  expect(new Set(found)).toEqual(BETWEEN_PROCESSES);
});
