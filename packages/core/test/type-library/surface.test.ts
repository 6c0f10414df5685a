import { describe, expect, it } from 'vitest';
import { QuickJsPool } from '#core/sandbox/index.js';
import { buildTypeLibrary } from '#core/script/check/type-library/build-library.js';
import { SURFACE_SCRIPT, type GuestSurface } from '#core/script/check/type-library/surface.js';
import { driveRun, returnedValue } from '#core/testing/index.js';
import { LIBRARY } from './compiler.js';
import { compareSurface } from './surface.js';

async function readSurface(): Promise<GuestSurface> {
  const pool = new QuickJsPool({ size: 1 });
  try {
    return returnedValue(await driveRun(pool, SURFACE_SCRIPT)) as GuestSurface;
  } finally {
    await pool.close();
  }
}

/** Replaces a text that must be there. */
function altered(library: string, from: string, to: string): string {
  expect(library).toContain(from);
  return library.replace(from, to);
}

describe('the type library and the sandbox', () => {
  it('declare exactly the same members', async () => {
    const { invented, forgotten, globals, members } = await compareSurface();
    expect(invented).toEqual([]);
    expect(forgotten).toEqual([]);
    expect(globals).toBeGreaterThan(80);
    expect(members).toBeGreaterThan(6_000);
  });

  it('are compared: an additional or missing member or global is detected', async () => {
    const planted = [
      ['interface Array<T>{', 'interface Array<T>{plantedMethod(): void;'],
      ['interface Console{', 'interface Console{dirxml(rows: any): void;'],
      ['interface Promise<T>{', 'interface Promise<T>{readonly [Symbol.unscopables]: any;'],
      ['interface MapConstructor{', 'interface MapConstructor{planted: 1;'],
      ['interface NumberFormat{', 'interface NumberFormat{formatRange(): string;'],
      ['sumPrecise(', 'addPrecise('],
      ['function ownKeys(', 'function planted('],
      ['declare function atob(', 'declare function setImmediate('],
    ].reduce((library, [from, to]) => altered(library, from!, to!), LIBRARY);
    const { invented, forgotten } = await compareSurface(planted);
    const members = invented.map((name) => name.slice(name.lastIndexOf('.') + 1).replace(']', ''));
    expect(new Set(members)).toEqual(
      new Set(['plantedMethod', 'dirxml', 'unscopables', 'planted', 'formatRange', 'addPrecise', 'setImmediate']),
    );
    expect(invented).toEqual(expect.arrayContaining(['Array.prototype.plantedMethod', '[].plantedMethod']));
    expect(invented).toEqual(expect.arrayContaining(['Map.planted', 'Reflect.planted', 'setImmediate']));
    expect(forgotten.toSorted()).toEqual(['Math.sumPrecise', 'Reflect.ownKeys', 'atob']);
  });
});

describe('building the type library', () => {
  it('the same sandbox gives the same text, and it is the one that was built', async () => {
    const surface = await readSurface();
    const reversed: GuestSurface = {
      globals: surface.globals.toReversed(),
      members: Object.fromEntries(
        Object.entries(surface.members)
          .toReversed()
          .map(([key, names]) => [key, names.toReversed()]),
      ),
    };
    expect(await buildTypeLibrary(surface)).toBe(LIBRARY);
    expect(await buildTypeLibrary(reversed)).toBe(LIBRARY);
  });

  it('a smaller sandbox gives a smaller library', async () => {
    const surface = await readSurface();
    const without = (key: string, name: string) => (surface.members[key] ?? []).filter((member) => member !== name);
    const less = await buildTypeLibrary({
      globals: surface.globals.filter((name) => !['WeakRef', 'parseInt', 'URL', 'Reflect'].includes(name)),
      members: {
        ...surface.members,
        Math: without('Math', 'sumPrecise'),
        'Array.specimen': without('Array.specimen', 'flatMap'),
        'ReadonlyArray.specimen': without('ReadonlyArray.specimen', 'flatMap'),
        'IteratorObject.specimen': [],
      },
    });
    for (const gone of [/\bWeakRef/u, /function parseInt/u, /\bURL\b/u, /namespace Reflect/u, /sumPrecise/u]) {
      expect(LIBRARY).toMatch(gone);
      expect(less).not.toMatch(gone);
    }
    expect(less).toContain('interface URLSearchParams{');
    expect(less).toMatch(/^interface Array<T>\{(?!.*flatMap)/mu);
    expect(less).toMatch(/^interface IteratorObject<[^{]*\{\}$/mu);
  });

  it('it is one small file, without comments except its origin', () => {
    const [header, body] = [LIBRARY.slice(0, 600), LIBRARY.replaceAll(/^\/\/.*\n/gmu, '')];
    expect(header).toContain('Apache License, Version 2.0');
    expect(header).toContain('TypeScript 7');
    expect(LIBRARY.split('\n').filter((line) => line.startsWith('//'))).toHaveLength(4);
    expect(body).not.toMatch(/\/\*|\/\//u);
    expect(body).not.toMatch(/^(?:import|export)\b/mu);
    expect(LIBRARY.length).toBeLessThan(125_000);
  });
});
