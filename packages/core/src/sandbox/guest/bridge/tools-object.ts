// The tools object is created on demand: a script rarely uses more than a few of many tools. Each namespace is a proxy
// over a null-prototype object, which receives a member as a read-only property when the script first reads it. Before
// the script lists the members, the object receives the rest of them, and can no longer be extended.
import {
  create,
  defineProperty,
  freeze,
  getOwnPropertyDescriptor,
  keys,
  parse,
  Proxy,
  Reflect,
  stringify,
  TypeError,
  WeakMap,
} from '../primordials.js';
import { send } from './calls.js';
import { indexOf, join, slice, split, toText, weakGet, weakSet } from './captured.js';
import { makeError } from './errors.js';
import { askHost } from './host.js';
import { nearestNames } from './nearest-names.js';
import { makeSpawn } from './spawn.js';

const { isExtensible, preventExtensions } = Reflect;

type Key = string | symbol;

/** Namespaces and full names, as the host writes them. */
interface Branch {
  readonly [name: string]: string | Branch;
}

interface Namespace {
  /** The names of the namespace and of those around it, each with a dot after it. */
  readonly path: string;
  /** The names of all members in the order of the tools; undefined before `complete`. */
  names: string[] | undefined;
}

type Members = Record<Key, unknown>;

const MAX_NAMED = 20;
/** No tool has a longer name. */
const MAX_KEY_UNITS = 512;
/** The host's answer for a member that is a namespace. */
const NAMESPACE = '.';

/** Members that scripts read to find out whether they exist. */
const OPTIONAL_MEMBERS: Readonly<Record<string, true | undefined>> = freeze({
  __proto__: null as never,
  mcp: true,
  spawn: true,
  http: true,
  then: true,
  toJSON: true,
});

const namespaces = new WeakMap<object, Namespace>();
/** The prefix of the ids of detached tasks; empty if the script cannot start any. */
let taskPrefix = '';

export function allowTasks(prefix: string): void {
  taskPrefix = prefix;
}

function findMember(target: object, key: string): unknown {
  const known = (target as Members)[key];
  if (known !== undefined || !isExtensible(target)) return known;
  const value = makeMember(weakGet(namespaces, target)!.path, key);
  if (value !== undefined)
    defineProperty(target, key, { value, writable: false, configurable: false, enumerable: true });
  return value;
}

function makeMember(path: string, key: string): unknown {
  const isName = key.length <= MAX_KEY_UNITS && indexOf(key, '.') < 0;
  const answer = isName ? askHost('tools.' + path + key) : '';
  if (answer === NAMESPACE) return makeNamespace(path + key + '.');
  if (answer !== '') return toolFunction(answer);
  return path === '' && key === 'spawn' && taskPrefix !== '' ? makeSpawn(taskPrefix) : undefined;
}

/** Gives a namespace all its members. If the heap becomes full meanwhile, the namespace stays extensible. */
function complete(target: object): void {
  if (!isExtensible(target)) return;
  const namespace = weakGet(namespaces, target)!;
  const branch = branchAt(namespace.path);
  const names = keys(branch);
  if (namespace.path === '' && taskPrefix !== '' && branch['spawn'] === undefined) names[names.length] = 'spawn';
  for (let index = 0; index < names.length; index++) findMember(target, names[index]!);
  namespace.names = names;
  preventExtensions(target);
}

/** `path`: see `Namespace`. */
function branchAt(path: string): Branch {
  let branch = parse(askHost('tools')) as Branch;
  const names = path === '' ? [] : split(slice(path, 0, -1), '.');
  for (let index = 0; index < names.length; index++) branch = branch[names[index]!] as Branch;
  return branch;
}

function toolNames(branch: Branch, names: string[]): string[] {
  const members = keys(branch);
  for (let index = 0; index < members.length; index++) {
    const member = branch[members[index]!]!;
    if (typeof member === 'string') names[names.length] = member;
    else toolNames(member, names);
  }
  return names;
}

function unknownTool(wanted: string): Error {
  const names = toolNames(branchAt(''), []);
  const near = nearestNames(wanted, names);
  let advice = ' No tools are available.';
  if (near.length > 0) advice = ' Did you mean ' + join(near, ', ') + '?';
  else if (names.length > 0)
    advice = ' Available: ' + join(names.slice(0, MAX_NAMED), ', ') + (names.length > MAX_NAMED ? ', …' : '') + '.';
  return makeError('ToolNotFoundError', 'There is no tool tools.' + wanted + '.' + advice, undefined, {
    code: 'ToolNotFoundError',
  });
}

const refuseChange = (target: object, key: Key): never => {
  throw new TypeError('tools.' + weakGet(namespaces, target)!.path + toText(key) + ' cannot be changed');
};

const namespaceHandler: ProxyHandler<object> = freeze({
  __proto__: null,
  get(target: object, key: Key): unknown {
    const known = (target as Members)[key];
    if (known !== undefined || typeof key === 'symbol') return known;
    const member = findMember(target, key);
    if (member !== undefined || OPTIONAL_MEMBERS[key] === true) return member;
    throw unknownTool(weakGet(namespaces, target)!.path + key);
  },
  has: (target: object, key: Key) => typeof key === 'string' && findMember(target, key) !== undefined,
  getOwnPropertyDescriptor(target: object, key: Key): PropertyDescriptor | undefined {
    complete(target);
    return getOwnPropertyDescriptor(target, key);
  },
  ownKeys(target: object): Key[] {
    complete(target);
    return weakGet(namespaces, target)!.names!;
  },
  isExtensible(target: object): boolean {
    complete(target);
    return false;
  },
  preventExtensions(target: object): boolean {
    complete(target);
    return true;
  },
  set: refuseChange,
  defineProperty: refuseChange,
  deleteProperty: refuseChange,
  setPrototypeOf(): never {
    throw new TypeError('tools cannot be changed');
  },
});

function makeNamespace(path: string): object {
  const target = create(null) as object;
  weakSet(namespaces, target, { path, names: undefined });
  return new Proxy(target, namespaceHandler);
}

/** A function whose name is the tool's. */
function toolFunction(name: string): object {
  const quoted = stringify(name);
  return freeze({ [name]: (args: unknown) => send(quoted, args) }[name]!);
}

export function makeTools(): object {
  return makeNamespace('');
}
