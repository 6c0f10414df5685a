// The tools object is created on demand: a script rarely uses more than a few of many tools. Each namespace is a proxy
// over a null-prototype object that cannot be extended. A member starts as the text of the tool's full name (or, for a
// namespace, as an object of such texts) and becomes a read-only function or namespace when it is first read.
import {
  create,
  defineProperty,
  freeze,
  getOwnPropertyDescriptor,
  keys,
  ownKeys,
  parse,
  Proxy,
  Reflect,
  stringify,
  TypeError,
  WeakMap,
} from '../primordials.js';
import { send } from './calls.js';
import { join, toText, weakGet, weakSet } from './captured.js';
import { makeError } from './errors.js';
import { nearestNames } from './nearest-names.js';
import { makeSpawn } from './spawn.js';

const { preventExtensions, setPrototypeOf } = Reflect;

type Key = string | symbol;
type Namespace = Record<string, unknown>;

const MAX_NAMED = 20;

/** Members that scripts read to find out whether they exist. */
const OPTIONAL_MEMBERS: Readonly<Record<string, true | undefined>> = freeze({
  __proto__: null as never,
  mcp: true,
  spawn: true,
  http: true,
  then: true,
  toJSON: true,
});

const namespacePaths = new WeakMap<object, string>();
const rootNamespace = create(null) as Namespace;
weakSet(namespacePaths, rootNamespace, '');
/** JSON text of the tools' names as a tree; empty after `fillRoot` has read it. */
let toolsText = '';
/** The prefix of the ids of detached tasks; empty if the script cannot start any. */
let taskPrefix = '';

export function setTools(treeText: string, prefix: string): void {
  toolsText = treeText;
  taskPrefix = prefix;
}

/** Reads the tools' names into the root, before any other access to it. */
function fillRoot(): void {
  if (toolsText === '') return;
  const tree = parse(toolsText) as Namespace;
  const names = keys(tree);
  for (let index = 0; index < names.length; index++) rootNamespace[names[index]!] = tree[names[index]!];
  if (taskPrefix !== '' && rootNamespace.spawn === undefined) ownMember(rootNamespace, 'spawn', makeSpawn(taskPrefix));
  preventExtensions(rootNamespace);
  // This must be the last line: if the heap is full before this line, the next access to the root reads the names
  // again.
  toolsText = '';
}

const ownMember = (target: object, name: Key, value: unknown): boolean =>
  defineProperty(target, name, { value, writable: false, configurable: false, enumerable: true });

function toolNames(branch: Namespace, names: string[]): string[] {
  const members = keys(branch);
  for (let index = 0; index < members.length; index++) {
    const member = branch[members[index]!];
    if (branch === rootNamespace && members[index] === 'spawn') continue;
    if (typeof member === 'object') toolNames(member as Namespace, names);
    else if (typeof member === 'string') names[names.length] = member;
    else if (typeof member === 'function') names[names.length] = member.name;
  }
  return names;
}

function unknownTool(wanted: string): Error {
  const names = toolNames(rootNamespace, []);
  const near = nearestNames(wanted, names);
  let advice = ' No tools are available.';
  if (near.length > 0) advice = ' Did you mean ' + join(near, ', ') + '?';
  else if (names.length > 0)
    advice = ' Available: ' + join(names.slice(0, MAX_NAMED), ', ') + (names.length > MAX_NAMED ? ', …' : '') + '.';
  return makeError('ToolNotFoundError', 'There is no tool tools.' + wanted + '.' + advice, undefined, {
    code: 'ToolNotFoundError',
  });
}

function member(target: object, key: Key): PropertyDescriptor | undefined {
  const own = getOwnPropertyDescriptor(target, key);
  if (own === undefined || own.writable !== true) return own;
  const made =
    typeof own.value === 'string'
      ? toolFunction(own.value)
      : makeNamespace(own.value as object, weakGet(namespacePaths, target)! + (key as string) + '.');
  ownMember(target, key, made);
  return getOwnPropertyDescriptor(target, key);
}

const refuseChange = (target: object, key: Key): never => {
  throw new TypeError('tools.' + weakGet(namespacePaths, target) + toText(key) + ' cannot be changed');
};

const namespaceHandler: ProxyHandler<object> = freeze({
  __proto__: null,
  get(target: object, key: Key): unknown {
    const own = member(target, key);
    if (own !== undefined) return own.value;
    if (typeof key === 'symbol' || OPTIONAL_MEMBERS[key] === true) return undefined;
    throw unknownTool(weakGet(namespacePaths, target)! + key);
  },
  getOwnPropertyDescriptor: (target: object, key: Key) => member(target, key),
  set: refuseChange,
  defineProperty: refuseChange,
  deleteProperty: refuseChange,
  setPrototypeOf(): never {
    throw new TypeError('tools cannot be changed');
  },
});

const rootHandler: ProxyHandler<Namespace> = freeze({
  ...namespaceHandler,
  __proto__: null,
  get(target: Namespace, key: string): unknown {
    if (toolsText !== '') fillRoot();
    const made = target[key];
    return typeof made === 'function' ? made : namespaceHandler.get!(target, key, undefined);
  },
  getOwnPropertyDescriptor(target: Namespace, key: Key): PropertyDescriptor | undefined {
    fillRoot();
    return member(target, key);
  },
  has(target: Namespace, key: Key): boolean {
    fillRoot();
    return key in target;
  },
  ownKeys(target: Namespace): Key[] {
    fillRoot();
    return ownKeys(target);
  },
  isExtensible(): boolean {
    fillRoot();
    return false;
  },
  preventExtensions(): boolean {
    fillRoot();
    return true;
  },
});

function makeNamespace(members: object, path: string): object {
  setPrototypeOf(members, null);
  preventExtensions(members);
  weakSet(namespacePaths, members, path);
  return new Proxy(members, namespaceHandler);
}

/** A function whose name is the tool's. */
function toolFunction(name: string): object {
  const quoted = stringify(name);
  return freeze({ [name]: (args: unknown) => send(quoted, args) }[name]!);
}

export function makeTools(): object {
  return new Proxy(rootNamespace, rootHandler);
}
