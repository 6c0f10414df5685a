import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { ToolscriptUsageError } from '#core/protocol/errors.js';
import { defineTool } from '#core/tools/define-tool.js';
import { editDistance, nameTokens, nearestNames } from '#core/text/nearest-names.js';
import { createRegistry, resolveExposure } from '#core/tools/registry.js';
import { tries } from '@toolscript/testkit/some-cases';

const tool = (name: string) =>
  defineTool(
    { name, description: `${name}.`, execute: () => null },
    name.startsWith('mcp.') ? { namespace: 'mcp' } : {},
  );
const registryOf = (...names: string[]) => createRegistry(names.map(tool));

describe('nearest names', () => {
  const names = ['readFile', 'writeFile', 'listDir', 'grepFiles', 'prompts.save', 'applyPatch'];

  it.each([
    ['readFlie', 'readFile'],
    ['read_file', 'readFile'],
    ['READFILE', 'readFile'],
    ['listFiles', 'listDir'],
    ['list-dir', 'listDir'],
    ['save', 'prompts.save'],
    ['patchApply', 'applyPatch'],
  ])('find for %s the name %s', (wrong, right) => {
    expect(nearestNames(wrong, names)).toContain(right);
  });

  it('are none for a dissimilar name', () => {
    expect(nearestNames('zzzz', names)).toEqual([]);
    expect(nearestNames('', names)).toEqual([]);
    expect(nearestNames('x'.repeat(100_000), names)).toEqual([]);
  });

  it('split names at every kind of word boundary', () => {
    expect(nameTokens('getHTTPResponse_code-2.last')).toEqual(['get', 'http', 'response', 'code', '2', 'last']);
  });

  it('are some of the given names, at most as many as requested, the name itself first, whatever the order', () => {
    const word = fc.constantFrom('read', 'write', 'File', 'Dir', 'list', '_', '-', '.', 'x');
    const name = fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join(''));
    fc.assert(
      fc.property(
        name,
        fc.uniqueArray(name, { maxLength: 12 }),
        fc.integer({ min: 0, max: 4 }),
        (wanted, given, max) => {
          const nearest = nearestNames(wanted, given, max);
          expect(nearest.length).toBeLessThanOrEqual(max);
          expect(new Set(nearest).size).toBe(nearest.length);
          for (const one of nearest) expect(given).toContain(one);
          expect(nearestNames(wanted, given.toReversed(), max)).toEqual(nearest);
          if (/[a-z]/i.test(wanted)) expect(nearestNames(wanted, [...given, wanted], 20)).toContain(wanted);
        },
      ),
      { numRuns: tries(500) },
    );
  });

  it('use a distance that is symmetric, zero for equals, and one for one typing error', () => {
    const text = fc.string({ maxLength: 12 });
    fc.assert(
      fc.property(text, text, fc.nat(12), (left, right, at) => {
        expect(editDistance(left, right)).toBe(editDistance(right, left));
        expect(editDistance(left, left)).toBe(0);
        expect(editDistance(left, left.slice(0, at) + '\u0000' + left.slice(at))).toBe(1);
      }),
      { numRuns: tries(300) },
    );
  });
});

describe('a registry', () => {
  it('finds a tool by its name and by its identifier form', () => {
    const registry = registryOf('get-user', 'prompts.save-all', '3d');
    expect(registry.get('get-user')?.name).toBe('get-user');
    expect(registry.get('get_user')?.name).toBe('get-user');
    expect(registry.get('prompts.save_all')?.name).toBe('prompts.save-all');
    expect(registry.get('_3d')?.name).toBe('3d');
    expect(registry.get('nothing')).toBeUndefined();
    expect(registry.get('constructor')).toBeUndefined();
    expect(registry.names()).toEqual(['get-user', 'prompts.save-all', '3d']);
    expect(registry.scriptNames()).toEqual([
      'get_user',
      'get-user',
      'prompts.save_all',
      'prompts.save-all',
      '_3d',
      '3d',
    ]);
    expect(registry.scriptNames(new Set(['3d']))).toEqual(['_3d', '3d']);
  });

  it.each([
    [['a', 'a'], /Two tools have the name "a"/],
    [['get-user', 'get_user'], /"get-user" and "get_user" would both be written tools.get_user/],
    [['prompts', 'prompts.save'], /"prompts" is both a tool/],
    [['a-b', 'a_b.c'], /"a_b" is both a tool \("a-b"\)/],
    [['x.y.z', 'x.y'], /"x.y" is both a tool/],
  ])('refuses names that collide: %j', (names, message) => {
    expect(() => registryOf(...names)).toThrow(ToolscriptUsageError);
    expect(() => registryOf(...names)).toThrow(message);
    expect(() => registryOf(...names.toReversed())).toThrow(ToolscriptUsageError);
  });

  it('rejects objects that defineTool did not create', () => {
    for (const odd of [null, undefined, {}, { name: 'x' }, 'x'])
      expect(() => createRegistry([odd as never])).toThrow(/made by defineTool/);
  });
});

describe('the exposed tools', () => {
  const registry = registryOf('readFile', 'writeFile', 'exec', 'listDir', 'http', 'mcp.github.search', 'my-tool');
  const exposed = (exposure: object, packs = {}) => [...resolveExposure(exposure, registry, packs)];

  it('are all given tools by default, without mcp and http', () => {
    expect(exposed({})).toEqual(['readFile', 'writeFile', 'exec', 'listDir', 'my-tool']);
  });

  it('include mcp and http only if they are enabled', () => {
    expect(exposed({ mcp: true })).toContain('mcp.github.search');
    expect(exposed({ http: true })).toContain('http');
    expect(exposed({ tools: ['http', 'mcp.github.search', 'exec'] })).toEqual(['exec']);
  });

  it('are the pack and the listed tools together', () => {
    expect(exposed({ pack: 'core-codex' })).toEqual(['exec', 'readFile', 'listDir']);
    expect(exposed({ pack: 'core-codex', tools: ['my_tool'] })).toEqual(['exec', 'readFile', 'listDir', 'my-tool']);
    expect(exposed({ tools: [] })).toEqual([]);
    expect(exposed({ pack: 'research' })).toEqual([]);
    expect(exposed({ pack: 'all' })).toEqual(exposed({}));
  });

  it('include every tool of a named namespace, and nothing for a missing MCP server', () => {
    const wide = registryOf('exec', 'prompts.save', 'prompts.get', 'mcp.my-server.a', 'mcp.my-server.b', 'mcp.other.a');
    const of = (exposure: object, packs = {}) => [...resolveExposure(exposure, wide, packs)];
    expect(of({ tools: ['prompts'] })).toEqual(['prompts.save', 'prompts.get']);
    expect(of({ tools: ['mcp.my_server'], mcp: true })).toEqual(['mcp.my-server.a', 'mcp.my-server.b']);
    expect(of({ tools: ['mcp'], mcp: true })).toEqual(['mcp.my-server.a', 'mcp.my-server.b', 'mcp.other.a']);
    expect(of({ tools: ['mcp.absent', 'mcp.absent.tool', 'exec'], mcp: true })).toEqual(['exec']);
    expect(of({ pack: 'mine' }, { mine: { tools: ['prompts'] } })).toEqual(['prompts.save', 'prompts.get']);
    expect(() => of({ tools: ['promp'] })).toThrow(/no tool or namespace "promp"/);
  });

  it('include packs that others extend', () => {
    const packs = {
      small: { tools: ['readFile'] },
      both: { extends: ['small', 'anthropic-standard'], tools: ['my-tool'] },
      more: { extends: 'both' },
    };
    expect(exposed({ pack: 'more' }, packs).toSorted()).toEqual(['exec', 'listDir', 'my-tool', 'readFile']);
  });

  it.each([
    [{ pack: 'core-code' }, {}, /no pack "core-code". Did you mean core-codex/],
    [{ tools: ['readfil'] }, {}, /no tool or namespace "readfil", which expose.tools names. Did you mean readFile/],
    [{ pak: 'x' }, {}, /unknown member "pak". Did you mean pack/],
    [{ tools: 'exec' }, {}, /must be a list/],
    [{}, { a: { tools: ['nope'] } }, /no tool or namespace "nope", which the pack "a" names/],
    [{}, { a: { extends: 'b' }, b: { extends: ['a'] } }, /cycle: a → b → a\. Remove one "extends"/],
    [{}, { a: { extends: 'a' } }, /cycle: a → a/],
    [{}, { a: { extends: 'zzz' } }, /no pack "zzz", which "a" extends/],
    [{}, { all: { tools: [] } }, /built in/],
    [{}, { a: { tolls: [] } }, /unknown member "tolls". Did you mean tools/],
    [{}, { a: { tools: [5] } }, /must be a list of names/],
    [{}, { a: null }, /must be an object/],
  ])('is refused in one sentence where it is wrong: %j %j', (exposure, packs, message) => {
    expect(() => exposed(exposure, packs)).toThrow(ToolscriptUsageError);
    expect(() => exposed(exposure, packs)).toThrow(message);
  });
});
