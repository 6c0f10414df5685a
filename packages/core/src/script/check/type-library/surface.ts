/**
 * The built-ins of a running guest. Keys of `members` name the subject of a declaration: a global (`Math`), the
 * prototype of a global (`Array.prototype`), or the specimen of an interface (`RegExpExecArray.specimen`). The members
 * are those that `in` finds, with symbols written as `[Symbol.iterator]`.
 */
export interface GuestSurface {
  readonly globals: readonly string[];
  readonly members: Readonly<Record<string, readonly string[]>>;
}

/**
 * Guest source by the name of an interface. Each source creates a value with all members of its interface. No global's
 * prototype has all of these members (`cause` is a member of the error itself).
 */
const SPECIMENS: Readonly<Record<string, string>> = {
  AggregateError: 'new AggregateError([])',
  Array: '[]',
  ArrayIterator: '[].values()',
  AsyncGenerator: '(async function* () {})()',
  AsyncGeneratorFunction: 'async function* () {}',
  AsyncIteratorObject: 'Object.getPrototypeOf(Object.getPrototypeOf((async function* () {}).prototype))',
  CallableFunction: 'function () {}',
  Error: "new Error('', { cause: 0 })",
  Function: 'function () {}',
  Generator: '(function* () {})()',
  GeneratorFunction: 'function* () {}',
  IArguments: '(function () { return arguments })()',
  MapIterator: 'new Map().values()',
  NewableFunction: 'function () {}',
  ReadonlyArray: '[]',
  ReadonlyMap: 'new Map()',
  ReadonlySet: 'new Set()',
  RegExp: '/a/',
  RegExpExecArray: '/(?<a>a)/d.exec("a")',
  RegExpIndicesArray: '/(?<a>a)/d.exec("a").indices',
  RegExpMatchArray: '"a".match(/(?<a>a)/d)',
  RegExpStringIterator: '"a".matchAll(/a/g)',
  SetIterator: 'new Set().values()',
  String: 'Object("")',
  StringIterator: '""[Symbol.iterator]()',
  SuppressedError: "new SuppressedError(0, 0, '')",
  TemplateStringsArray: '((parts) => parts)``',
};

/** A script that returns the `GuestSurface` of the sandbox that it runs in. */
export const SURFACE_SCRIPT = `
const written = new Map();
for (const name of Object.getOwnPropertyNames(Symbol)) {
  if (typeof Symbol[name] === 'symbol') written.set(Symbol[name], '[Symbol.' + name + ']');
}
const declaredMembers = (value) => {
  const names = new Set();
  for (let at = Object(value); at !== null; at = Object.getPrototypeOf(at)) {
    for (const key of Reflect.ownKeys(at)) names.add(typeof key === 'symbol' ? written.get(key) : key);
  }
  return [...names].filter((name) => name !== undefined).sort();
};
const globals = Object.getOwnPropertyNames(globalThis).sort();
const members = {};
for (const name of globals) {
  const value = globalThis[name];
  if (Object(value) !== value || name === 'globalThis') continue;
  members[name] = declaredMembers(value);
  if (Object.hasOwn(value, 'prototype') && Object(value.prototype) === value.prototype) members[name + '.prototype'] = declaredMembers(value.prototype);
}
const specimens = { ${Object.entries(SPECIMENS)
  .map(([name, source]) => `${name}: () => (${source})`)
  .join(', ')} };
for (const [name, make] of Object.entries(specimens)) members[name + '.specimen'] = declaredMembers(make());
return { globals, members };
`;
