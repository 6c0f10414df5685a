import { createHarness, defineTool } from '@toolscript/core';
import { currentOffer, MAX_DESCRIPTION } from '#mcp/gateway/descriptions.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sharedThreads } from '@toolscript/testkit/shared-threads';

/** Namespaces of different lengths, with names as long as servers give them. */
function harnessOf(count: number) {
  const tools = Array.from({ length: count }, (_, index) => {
    const namespace = `service_${index % 200}_${'of_the_department_'.repeat(index % 3)}end`;
    return defineTool(
      {
        name: `mcp.${namespace}.list_every_record_that_was_changed_since_${index}`,
        description: 'Lists records. '.repeat(10),
        inputSchema: { type: 'object', properties: { since: { type: 'string' } } },
        execute: () => 1,
      },
      { namespace: 'mcp' },
    );
  });
  const harness = createHarness({ tools, ...sharedThreads(), expose: { mcp: true } });
  onTestFinished(() => harness.close());
  return { harness, namespaces: new Set(tools.map(({ name }) => name.slice(0, name.lastIndexOf('.')))) };
}

describe.each([0, 1, 10, 1_000, 5_000])('over %i tools', (count) => {
  it.each([
    ['the description of run_script', 'description', ['code', 'return', 'await tools.']],
    ['the instructions of a connection', 'instructions', ['run_script', 'search_tools', 'resume_script']],
  ] as const)('%s fits every client, has the essentials, and cuts no name', (_name, member, essentials) => {
    const { harness, namespaces } = harnessOf(count);
    const text = currentOffer(harness)[member];
    expect(text.length).toBeLessThanOrEqual(MAX_DESCRIPTION);
    for (const part of essentials) expect(text).toContain(part);
    if (count <= 1) return;
    for (const part of ['Search first', 'search_tools', 'describe_tools', `${count} tools`])
      expect(text).toContain(part);
    const shown = [...text.matchAll(/(mcp\.service[^\s,]*) \(\d+\)/gu)].map(([, name]) => name!);
    expect(shown.length).toBeGreaterThan(0);
    expect(shown.filter((name) => !namespaces.has(name))).toEqual([]);
    expect(text).toMatch(/\.$/u);
  });
});
