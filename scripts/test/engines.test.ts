import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

interface LockedPackage {
  readonly link?: true;
  readonly resolved?: string;
  readonly engines?: { readonly node?: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Readonly<Record<string, LockedPackage>>;
};

/** The place of a package as Node.js finds it from the place of another one. */
function placeFrom(place: string, name: string): string | undefined {
  const folders = place.split('/');
  for (let length = folders.length; length >= 0; length--) {
    const candidate = [...folders.slice(0, length), 'node_modules', name].join('/');
    const found = packages[candidate];
    if (found !== undefined) return found.link === true ? found.resolved : candidate;
  }
  return undefined;
}

/** The places of everything that a user of the published packages installs. */
function installedPlaces(): string[] {
  const reached = new Set<string>();
  const open = Object.keys(packages).filter((place) => /^packages\/(?!testkit$)[^/]+$/u.test(place));
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (reached.has(place)) continue;
    reached.add(place);
    const { dependencies, optionalDependencies } = packages[place]!;
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const found = placeFrom(place, name);
      if (found !== undefined) open.push(found);
    }
  }
  return [...reached];
}

/** Whether a range of npm, such as `^20.19.0 || >=22`, contains a version. Throws for a form that no package has used. */
function contains(range: string, version: readonly number[]): boolean {
  return range.split('||').some((every) =>
    every
      .trim()
      .replaceAll(/([<>=^]) +/gu, '$1')
      .split(/ +/u)
      .every((part) => fits(part, version)),
  );
}

function fits(part: string, version: readonly number[]): boolean {
  const [, sign = '', numbers] = /^(>=|\^|)((?:\d+|x)(?:\.(?:\d+|x)){0,2})$/u.exec(part) ?? [];
  if (numbers === undefined) throw new Error(`The range ${part} is of a form that this test does not know.`);
  const least = numbers
    .split('.')
    .filter((number) => number !== 'x')
    .map(Number);
  if (sign !== '>=' && least[0] !== version[0]) return false;
  const differing = least.findIndex((number, index) => number !== version[index]);
  return differing === -1 || (sign !== '' && least[differing]! < version[differing]!);
}

it('every package that a user installs runs on the oldest Node.js that we name', () => {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };
  const oldest = [...engines.node.replace('>=', '').split('.').map(Number), 0];
  const places = installedPlaces();
  expect(places.length).toBeGreaterThan(150);
  const refused = places.filter((place) => !contains(packages[place]!.engines?.node ?? '>=0', oldest));
  expect(refused.map((place) => `${place}: ${packages[place]!.engines?.node}`)).toEqual([]);
});

it.each([
  ['>=20.19', true],
  ['>= 0.8', true],
  ['^20.19.0 || >=22.12.0', true],
  ['14 >=14.17 || 20 || >=22', true],
  ['>=20.19.1', false],
  ['>=22', false],
  ['^20.20.0 || >=22', false],
  ['18 || 22', false],
])('the range %s contains 20.19.0: %s', (range, isIn) => {
  expect(contains(range, [20, 19, 0])).toBe(isIn);
});
