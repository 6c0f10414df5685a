import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { expect, it } from 'vitest';
import { root } from './documents.js';

/*
 * A model reads the failures of scripts and calls, and acts on their advice. It has no harness and no options, so its
 * texts name nothing that only a host can do.
 */

/** The functions whose texts become failures of scripts and calls, or advice in them. */
const FAILURES = /^(?:row|failed|\w*[fF]ailure|interruptedByStore|toolFailure|ToolError)$/u;

/** The words of a host's program. */
const OF_HOSTS = /harness[.']|\bharness\b|createHarness|\basTool\b|\bonInternalError\b|\bthe option\b/u;

/** The files whose failures only hosts read: those of `harness.resume`. */
const FOR_HOSTS: readonly string[] = ['packages/core/src/run/script-runner.ts'];

interface Found {
  readonly place: string;
  readonly text: string;
}

function textsOf(path: string): Found[] {
  const source = readFileSync(join(root, path), 'utf8');
  const found: Found[] = [];
  const ends: number[] = [];
  const enter = (callee: { readonly type: string; readonly name?: unknown }, end: number) => {
    if (callee.type === 'Identifier' && FAILURES.test(String(callee.name))) ends.push(end);
  };
  const leave = (end: number) => {
    if (ends.at(-1) === end) ends.pop();
  };
  const add = (start: number, text: unknown) => {
    const place = `${path}:${source.slice(0, start).split('\n').length}`;
    if (ends.length > 0 && typeof text === 'string') found.push({ place, text });
  };
  new Visitor({
    CallExpression: ({ callee, end }) => enter(callee, end),
    'CallExpression:exit': ({ end }) => leave(end),
    NewExpression: ({ callee, end }) => enter(callee, end),
    'NewExpression:exit': ({ end }) => leave(end),
    Literal: ({ start, value }) => add(start, value),
    TemplateElement: ({ start, value }) => add(start, value.cooked),
  }).visit(parseSync(path, source).program);
  return found;
}

it('the failures that a model reads name nothing that only a host can do', () => {
  const texts = ['core', 'tools', 'mcp', 'isolated-vm'].flatMap((name) =>
    readdirSync(join(root, 'packages', name, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .flatMap((path) => textsOf(`packages/${name}/src/${path.replaceAll('\\', '/')}`)),
  );
  expect(texts.length).toBeGreaterThan(100);
  const faults = texts.filter(
    ({ place, text }) => OF_HOSTS.test(text) && !FOR_HOSTS.some((path) => place.startsWith(path)),
  );
  expect(faults).toEqual([]);
});
