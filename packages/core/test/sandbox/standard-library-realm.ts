// A realm of the guest's engine with the standard library in it, every intrinsic frozen, and a function that does the
// same work in the realm and in Node.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { QuickJS } from 'quickjs-wasi';
import { expect } from 'vitest';
import { bundleGuest } from '../../build/bundle-guest.mjs';

export interface Realm {
  /** The result of `work(input)` in the guest, or the name of its error; both are transferred as JSON. */
  run<Input>(work: (input: Input) => unknown, input: Input): Outcome;
  close(): void;
}

type Outcome = { value?: unknown } | { error: string; message: string };

/** `freeze: false` leaves the intrinsics as they are. */
export async function openRealm({ freeze } = { freeze: true }): Promise<Realm> {
  const wasm = readFileSync(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm'));
  const vm = await QuickJS.create({ wasm, timezoneOffset: 0, maxStackSize: 256 * 1024 });
  vm.evalCode(await standardLibrary()).dispose();
  if (freeze) vm.evalCode(`(${freezeEverything.toString()})()`).dispose();
  return {
    run(work, input) {
      const text = JSON.stringify(input);
      const source = `(${attempt.toString()})(${work.toString()}, ${text === undefined ? 'undefined' : `JSON.parse(${JSON.stringify(text)})`})`;
      using result = vm.evalCode(`"use strict"; ${source}`);
      return JSON.parse(result.toString()) as Outcome;
    },
    close: () => vm[Symbol.dispose](),
  };
}

/** Fails unless the guest gives Node's answer: the same value, or an error of the same name. */
export function expectNodesAnswer<Input>(realm: Realm, work: (input: Input) => unknown, input: Input): void {
  const guest = realm.run(work, input);
  const node = JSON.parse(attempt(work, input)) as Outcome;
  if ('error' in guest)
    expect({ input, error: guest.error, message: guest.message }).toEqual({ input, ...node, message: guest.message });
  else expect({ input, ...guest }).toEqual({ input, ...node });
}

/**
 * Settings for a property that compares with Node. The seed is fixed because Node's own releases differ from each other
 * and from the standards in rare corners: a random choice of such a case must not fail a build.
 */
export function comparing(numRuns: number): { numRuns: number; seed: number } {
  return { numRuns, seed: 1 };
}

/** Source that installs the standard library, and nothing else of the guest. */
export async function standardLibrary(): Promise<string> {
  return `(${await bundleGuest({ entry: 'standard-library/install.ts' })})()`;
}

// The guest and Node both run this function, so it must use nothing from outside.
function attempt<Input>(work: (input: Input) => unknown, input: Input): string {
  try {
    return JSON.stringify({ value: work(input) });
  } catch (error) {
    const { name, message } = error as Error;
    return JSON.stringify({ error: name, message });
  }
}

function freezeEverything(): void {
  const found: unknown[] = [
    globalThis,
    Object.getPrototypeOf(async function* () {}),
    Object.getPrototypeOf([].values()),
  ];
  const seen = new Set<unknown>();
  while (found.length > 0) {
    const value = found.pop();
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) continue;
    seen.add(value);
    for (const key of Reflect.ownKeys(value)) {
      const property = Reflect.getOwnPropertyDescriptor(value, key);
      found.push(property?.value, property?.get, property?.set);
    }
    found.push(Object.getPrototypeOf(value));
    if (value !== globalThis) Object.freeze(value);
  }
}
