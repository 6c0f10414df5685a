import { parseSync, type Program } from 'oxc-parser';
import { QuickJsPool } from '#core/sandbox/index.js';
import { driveRun, returnedValue } from '#core/testing/index.js';
import { Compiler, GUEST, LIBRARY } from './compiler.js';

/**
 * Expressions that a script and the compiler read alike, in addition to the globals and their prototypes: they show
 * members that no global's prototype shows.
 */
const SPECIMENS = [
  '[]',
  '[].values()',
  '[].values().map((value) => value)',
  'new Map().entries()',
  'new Set().values()',
  "new String('')",
  "''[Symbol.iterator]()",
  "'a'.matchAll(/a/g)",
  "'a'.match(/a/)!",
  '/a/.exec("a")!',
  '/a/d.exec("a")!.indices!',
  '/a/',
  '(function* () {})()',
  '(async function* () {})()',
  'function* () {}',
  'async function* () {}',
  'function () {}',
  '(function () { return arguments })()',
  '((parts: TemplateStringsArray) => parts)``',
  "new Error('', { cause: 0 })",
  'new AggregateError([])',
  "new SuppressedError(0, 0, '')",
  "new DOMException('', '')",
  "new URL('a:b')",
  'new Uint8Array()',
  'new Proxy({}, {})',
  'Proxy.revocable({}, {})',
  'Promise.withResolvers()',
  'JSON.rawJSON("1")',
  "Object.getOwnPropertyDescriptor({ a: 1 }, 'a')!",
  'new Intl.NumberFormat().formatToParts(1)[0]!',
  'new Intl.NumberFormat().resolvedOptions()',
  'new Intl.DateTimeFormat().formatToParts(0)[0]!',
  'new Intl.DateTimeFormat().resolvedOptions()',
  'new Intl.Collator().resolvedOptions()',
  'new Intl.PluralRules().resolvedOptions()',
  "new Intl.ListFormat().formatToParts(['a'])[0]!",
  'new Intl.ListFormat().resolvedOptions()',
  "new Intl.RelativeTimeFormat().formatToParts(1, 'day')[0]!",
  'new Intl.RelativeTimeFormat().resolvedOptions()',
  "new TextEncoder().encodeInto('', new Uint8Array())",
];

/** Existing names that are not declared, on purpose. */
const NOT_DECLARED = [
  // Functions replace these legacy accessors.
  /^Object\.prototype\.__(?:proto|(?:define|lookup)[GS]etter)__$/u,
  // These members throw when a script reads them in strict mode.
  /^Function\.prototype\.(?:arguments|caller)$/u,
  /^\(function \(\) \{ return arguments \}\)\(\)\.callee$/u,
  // Members of this engine that no other engine has.
  /^Function\.prototype\.(?:fileName|lineNumber|columnNumber)$/u,
  // The names of exceptions replaced these numbers long ago.
  /DOMException.*\.[A-Z_]+_ERR$/u,
  // Subclasses inherit the members that scripts use on `Error` and on the array itself.
  /^(?:AggregateError|SuppressedError)\.(?:isError|captureStackTrace|stackTraceLimit)$/u,
  /^\w+Array\.\[Symbol\.species\]$/u,
  // Elements, which the type's index signature represents.
  /\.\d+$/u,
  // The parts of a template are frozen, so they are declared as a list that cannot be changed.
  /^\(\(parts: TemplateStringsArray\) => parts\)``\.(?:copyWithin|fill|pop|push|reverse|shift|sort|splice|unshift)$/u,
  // Members that only `Object.prototype.toString` reads.
  /\.\[Symbol\.toStringTag\]$/u,
];

/**
 * A prototype is declared with the type of its instances; these members belong to each instance, and to no prototype.
 */
const OF_INSTANCES = [
  'AggregateError.prototype.errors',
  'Function.prototype.prototype',
  'Iterator.prototype.next',
  'RegExp.prototype.lastIndex',
  'SuppressedError.prototype.error',
  'SuppressedError.prototype.suppressed',
];

export interface SurfaceReport {
  /** Members that are declared but missing in the guest. */
  invented: string[];
  /** Members of the guest that are not declared. */
  forgotten: string[];
  globals: number;
  members: number;
}

interface PresentMembers {
  names: string[];
  isFunction: boolean;
}

/** Compares the declarations of the library with the members in the sandbox, global by global. */
export async function compareSurface(library = LIBRARY): Promise<SurfaceReport> {
  const pool = new QuickJsPool({ size: 1 });
  const compiler = new Compiler(library);
  try {
    return await compare(library, pool, compiler);
  } finally {
    await compiler.close();
    await pool.close();
  }
}

async function compare(library: string, pool: QuickJsPool, compiler: Compiler): Promise<SurfaceReport> {
  const inGuest = async (body: string) => returnedValue(await driveRun(pool, body));
  const present = (await inGuest('return Object.getOwnPropertyNames(globalThis)')) as string[];
  const declaredGlobals = valueNames(library);
  const described = [...declaredGlobals, ...valueNames(GUEST)];
  const subjects = await subjectsOf(
    inGuest,
    declaredGlobals.filter((name) => present.includes(name)),
  );
  const guestMembers = (await inGuest(membersScript(subjects))) as Record<string, PresentMembers>;
  const declaredMembers = await compiler.membersOf(subjects);
  const report: SurfaceReport = {
    invented: described.filter((name) => !present.includes(name)),
    forgotten: present.filter((name) => !described.includes(name) && !['globalThis', 'undefined'].includes(name)),
    globals: described.length,
    members: 0,
  };
  const everyObject = declaredMembers.get('Object.prototype')!.all;
  const everyFunction = declaredMembers.get('Function.prototype')!.all;
  for (const subject of subjects) {
    const { names, isFunction } = guestMembers[subject]!;
    const { all, promised } = declaredMembers.get(subject)!;
    const isDeclared = (name: string) =>
      all.has(name) || everyObject.has(name) || (isFunction && everyFunction.has(name));
    const isInherited = (name: string) =>
      (subject !== 'Object.prototype' && guestMembers['Object.prototype']!.names.includes(name)) ||
      (isFunction && subject !== 'Function.prototype' && guestMembers['Function.prototype']!.names.includes(name));
    report.members += names.length + promised.size;
    report.invented.push(...[...promised].filter((name) => !names.includes(name)).map((name) => `${subject}.${name}`));
    report.forgotten.push(
      ...names.filter((name) => !isDeclared(name) && !isInherited(name)).map((name) => `${subject}.${name}`),
    );
  }
  report.invented = report.invented.filter((name) => !OF_INSTANCES.includes(name));
  report.forgotten = report.forgotten.filter((name) => !NOT_DECLARED.some((exception) => exception.test(name)));
  return report;
}

/** The names of variables, functions and namespaces that a declaration file declares. */
function valueNames(declarations: string): string[] {
  const { program, errors } = parseSync('declared.d.ts', declarations, { lang: 'dts' });
  if (errors.length > 0) throw new Error(errors[0]!.message);
  return [...new Set(program.body.flatMap(declaredNames))];
}

function declaredNames(node: Program['body'][number]): string[] {
  if (node.type === 'VariableDeclaration') return node.declarations.map(({ id }) => (id as { name: string }).name);
  const declares = ['TSDeclareFunction', 'TSModuleDeclaration', 'ClassDeclaration'].includes(node.type);
  return declares && 'id' in node ? [(node.id as { name: string }).name] : [];
}

type InGuest = (body: string) => Promise<unknown>;

/** The globals that have members, the members of Intl, the prototypes of all these, and the specimens. */
async function subjectsOf(inGuest: InGuest, globals: readonly string[]): Promise<string[]> {
  const found = await inGuest(`
    const holders = [...${JSON.stringify(globals)}.map((name) => [name, globalThis[name]]), ...Object.getOwnPropertyNames(Intl).map((name) => ['Intl.' + name, Intl[name]])];
    const subjects = [];
    for (const [name, value] of holders) {
      if (Object(value) !== value) continue;
      subjects.push(name);
      // A plain function has a prototype too, and nothing in it.
      if (Object(value.prototype) === value.prototype && /^(?:Intl\\.)?[A-Z]/.test(name)) subjects.push(name + '.prototype');
    }
    return subjects;`);
  return [...(found as string[]), ...SPECIMENS];
}

/** The members that `in` finds, for each subject. */
function membersScript(subjects: readonly string[]): string {
  const specimens = subjects.map((subject) => {
    const plain = subject.replaceAll(/!(?=[.[]|$)/gu, '').replace(': TemplateStringsArray', '');
    return `[${JSON.stringify(subject)}, () => (${plain})]`;
  });
  return `
    const written = new Map(Object.getOwnPropertyNames(Symbol).filter((name) => typeof Symbol[name] === 'symbol').map((name) => [Symbol[name], '[Symbol.' + name + ']']));
    const found = {};
    for (const [subject, make] of [${specimens.join(',\n')}]) {
      const value = make();
      const names = new Set();
      for (let at = value; at !== null; at = Object.getPrototypeOf(at)) {
        for (const key of Reflect.ownKeys(at)) if (written.has(key) || typeof key === 'string') names.add(written.get(key) ?? key);
      }
      found[subject] = { names: [...names], isFunction: typeof value === 'function' };
    }
    return found;`;
}
