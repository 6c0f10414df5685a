import type { Edit } from '#core/script/syntax/source-text.js';
import { isFunction } from '#core/script/syntax/syntax-index.js';
import { memberName, innerExpression, type Node, type NodeOf, type Visit } from '#core/script/syntax/syntax.js';
import {
  membersOf,
  resultReads,
  type KnownCall,
  type Member,
  type ParsedScript,
  type Schema,
} from './parsed-script.js';

/** One change of a script. */
type Mutation = readonly Edit[];

/** Makes one kind of mistake, in every place of a script that allows it. */
export interface Operator {
  readonly name: string;
  /** The source of this kind of mistake: an observation, or a list of operators. */
  readonly seen: string;
  readonly mutate: (script: ParsedScript) => Mutation[];
}

const replaced = ({ start, end }: Pick<Node, 'start' | 'end'>, text: string): Mutation => [{ start, end, text }];
const removed = (place: Pick<Node, 'start' | 'end'>): Mutation => replaced(place, '');
const textOf = ({ source }: ParsedScript, { start, end }: Pick<Node, 'start' | 'end'>) => source.slice(start, end);

// Names

/** The name without a letter in its middle, or with an additional one. */
function misspelled(name: string): string {
  const middle = Math.floor(name.length / 2);
  return name.length > 3 ? name.slice(0, middle) + name.slice(middle + 1) : name + name.at(-1);
}

function inOtherConvention(name: string): string {
  return name.includes('_')
    ? name.replaceAll(/_(\w)/gu, (_, letter: string) => letter.toUpperCase())
    : name.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`);
}

const OTHER_WORDS: Readonly<Record<string, string>> = {
  get: 'fetch',
  list: 'getAll',
  read: 'load',
  create: 'add',
  search: 'find',
  send: 'post',
  update: 'edit',
  write: 'save',
  run: 'exec',
  delete: 'remove',
  query: 'q',
  path: 'file',
  filePath: 'path',
  content: 'text',
  city: 'location',
  repo: 'repository',
  number: 'id',
  id: 'key',
  text: 'content',
  title: 'name',
  name: 'title',
  url: 'link',
  total: 'sum',
  email: 'mail',
  labels: 'tags',
  results: 'items',
  items: 'results',
  issues: 'items',
  orders: 'results',
};

function withOtherWord(name: string): string | undefined {
  const whole = OTHER_WORDS[name];
  if (whole !== undefined) return whole;
  const verb = /^[a-z]+(?=[A-Z_]|$)/u.exec(name)?.[0] ?? '';
  const other = OTHER_WORDS[verb];
  return other === undefined ? undefined : other + name.slice(verb.length);
}

const RENAMINGS = {
  misspelled,
  'in another convention': (name: string) => (inOtherConvention(name) === name ? undefined : inOtherConvention(name)),
  'by another word': withOtherWord,
} satisfies Record<string, (name: string) => string | undefined>;

function renamings(
  what: string,
  seen: string,
  places: (script: ParsedScript) => { start: number; name: string }[],
): Operator[] {
  return Object.entries(RENAMINGS).map(([how, rename]) => ({
    name: `${what} ${how}`,
    seen,
    mutate: (script) =>
      places(script).flatMap(({ start, name }) => {
        const text = rename(name);
        return text === undefined ? [] : [replaced({ start, end: start + name.length }, text)];
      }),
  }));
}

const toolNames = renamings('tool', 'cloudflare/agents codemode, coder/mux ptc: unknown tools', ({ source, calls }) =>
  calls.flatMap(({ nameOffset, tool }) => {
    const name = tool.split('.').at(-1) ?? '';
    return source.startsWith(name, nameOffset) ? [{ start: nameOffset, name }] : [];
  }),
);

const argumentNames = renamings('argument', 'coder/mux ptc: wrong property name', ({ calls }) =>
  calls.flatMap((call) =>
    membersOf(call).flatMap(({ member, name }) => (member.shorthand ? [] : [{ start: member.key.start, name }])),
  ),
);

const resultNames = renamings('result member', 'TanStack/ai models-eval: wrong response structure', (script) =>
  resultReads(script).map(({ node }) => ({ start: node.property.start, name: memberName(node) ?? '' })),
);

const variableNames: Operator = {
  name: 'variable misspelled',
  seen: 'smolagents tests: undefined variables',
  mutate: ({ index }) =>
    [...index.references].flatMap(([name, [first]]) =>
      index.declared.has(name) && first !== undefined && !isShorthand(first)
        ? [replaced({ start: first.node.start, end: first.node.start + name.length }, misspelled(name))]
        : [],
    ),
};

function isShorthand({ key, parent }: Visit): boolean {
  return key === 'value' && parent?.node.type === 'Property' && parent.node.shorthand;
}

const destructuredNames: Operator = {
  name: 'destructured member misspelled',
  seen: 'TanStack/ai models-eval: wrong response structure',
  mutate: (script) =>
    script.index.patterns.flatMap(({ node }) =>
      node.type === 'ObjectPattern'
        ? node.properties.flatMap((each) => {
            const isRead = each.type === 'Property' && each.shorthand && each.value.type === 'Identifier';
            const name = isRead && each.key.type === 'Identifier' ? each.key.name : '';
            return script.resultMembers.has(name) ? [replaced(each, `${misspelled(name)}: ${name}`)] : [];
          })
        : [],
    ),
};

// Tools

const tools: Operator[] = [
  {
    name: 'namespace left out',
    seen: 'universal-tool-calling-protocol/code-mode: manual.tool and tool',
    mutate: ({ calls }) =>
      calls.flatMap(({ node, tool }) => {
        const callee = innerExpression(node.callee);
        return tool.includes('.') && callee.type === 'MemberExpression' && callee.object.type === 'MemberExpression'
          ? [replaced({ start: callee.object.object.end, end: callee.object.end }, '')]
          : [];
      }),
  },
  {
    name: 'tools left out',
    seen: 'codemode.x, functions.x, manual.x of all peers',
    mutate: (script) =>
      script.calls.flatMap(({ node }) => {
        const callee = textOf(script, node.callee);
        return callee.startsWith('tools.')
          ? [removed({ start: node.callee.start, end: node.callee.start + 'tools.'.length })]
          : [];
      }),
  },
  {
    name: 'tool of another namespace',
    seen: 'cloudflare/agents codemode: host.writeFile',
    mutate: (script) =>
      script.calls.flatMap(({ node }) =>
        textOf(script, node.callee).startsWith('tools.')
          ? [replaced({ start: node.callee.start + 5, end: node.callee.start + 6 }, '.api.')]
          : [],
      ),
  },
];

// Arguments

function eachMember(
  mutate: (
    found: { member: Member; name: string; schema: Schema; required: boolean; call: KnownCall },
    script: ParsedScript,
  ) => Mutation | undefined,
): (script: ParsedScript) => Mutation[] {
  return (script) =>
    script.calls.flatMap((call) =>
      membersOf(call).flatMap((found) => {
        const mutation = mutate({ ...found, call }, script);
        return mutation === undefined ? [] : [mutation];
      }),
    );
}

function valueAs(member: Member, name: string, text: string): Mutation {
  return replaced(member, `${name}: ${text}`);
}

/** A literal of another type; undefined if the schema accepts that type too. */
function otherType(value: Node, schema: Schema): string | undefined {
  if (value.type === 'Literal' && typeof value.value === 'string') return schema.type === 'string' ? '42' : undefined;
  if (value.type === 'TemplateLiteral') return schema.type === 'string' ? '42' : undefined;
  if (value.type === 'Literal' && typeof value.value === 'number') return `'${value.value}'`;
  if (value.type === 'Literal' && typeof value.value === 'boolean') return `'yes'`;
  if (value.type === 'ObjectExpression') return schema.type === 'object' ? `'all'` : undefined;
  return undefined;
}

/** `{ … }` without one of its members. */
function withoutMember(call: KnownCall, member: Member, { source }: ParsedScript): Mutation {
  const others = (call.argument?.properties ?? []).filter((each) => each !== member);
  const text = others.map(({ start, end }) => source.slice(start, end)).join(', ');
  return replaced(call.argument as Node, text === '' ? '{}' : `{ ${text} }`);
}

const eachLiteral = (mutate: (call: KnownCall, argument: NodeOf<'ObjectExpression'>, script: ParsedScript) => string) =>
  function mutateLiterals(script: ParsedScript): Mutation[] {
    return script.calls.flatMap((call) =>
      call.argument === undefined || call.argument.properties.length === 0
        ? []
        : [replaced(call.argument, mutate(call, call.argument, script))],
    );
  };

const argumentValues: Operator[] = [
  {
    name: 'required member left out',
    seen: 'coder/mux ptc: missing required property; openai/codex: exec_command({})',
    mutate: eachMember(({ member, required, call }, script) =>
      required ? withoutMember(call, member, script) : undefined,
    ),
  },
  {
    name: 'member of a wrong type',
    seen: 'vercel/ai code-mode: a text for a number; coder/mux ptc',
    mutate: eachMember(({ member, name, schema }) => {
      const text = otherType(member.value, schema);
      return text === undefined ? undefined : valueAs(member, name, text);
    }),
  },
  {
    name: 'one value for a list',
    seen: 'recorded answers: to: "a@b" for to: ["a@b"]',
    mutate: eachMember(({ member, name }, script) => {
      const [first] = member.value.type === 'ArrayExpression' ? member.value.elements : [];
      return first === undefined || first === null ? undefined : valueAs(member, name, textOf(script, first));
    }),
  },
  {
    name: 'a list for one value',
    seen: 'recorded answers: path: ["a"]',
    mutate: eachMember(({ member, name, schema }, script) =>
      schema.type === 'string' || schema.type === 'number' || schema.type === 'integer'
        ? valueAs(member, name, `[${textOf(script, member.value)}]`)
        : undefined,
    ),
  },
  {
    name: 'choice that is not offered',
    seen: 'vercel/ai code-mode prompt samples: mode enum',
    mutate: eachMember(({ member, name, schema }) =>
      schema.enum !== undefined && member.value.type === 'Literal' && typeof member.value.value === 'string'
        ? valueAs(member, name, `'${member.value.value.toUpperCase()}'`)
        : undefined,
    ),
  },
  {
    name: 'number out of range',
    seen: 'mutation testing: boundary values',
    mutate: eachMember(({ member, name, schema }) => {
      const isNumber = member.value.type === 'Literal' && typeof member.value.value === 'number';
      const least = schema.minimum ?? schema.exclusiveMinimum;
      const isBound = least !== undefined && least > -1e9;
      return isNumber && isBound ? valueAs(member, name, String(least - 1)) : undefined;
    }),
  },
  {
    name: 'fraction for a whole number',
    seen: 'mutation testing: constant replacement',
    mutate: eachMember(({ member, name, schema }) =>
      schema.type === 'integer' && member.value.type === 'Literal'
        ? valueAs(member, name, `${(member.value as { value: number }).value}.5`)
        : undefined,
    ),
  },
  {
    name: 'null for a required member',
    seen: 'mutation testing: null argument',
    mutate: eachMember(({ member, name, required, schema }) =>
      required && schema.type !== undefined && !schema.type.includes('null')
        ? valueAs(member, name, 'null')
        : undefined,
    ),
  },
  {
    name: 'undefined for a required member',
    seen: 'mutation testing: null argument',
    mutate: eachMember(({ member, name, required, schema }) =>
      required && schema.type !== undefined ? valueAs(member, name, 'undefined') : undefined,
    ),
  },
  {
    name: 'member that is not there',
    seen: 'coder/mux ptc: extra unexpected properties',
    mutate: eachLiteral(
      (_, argument, script) => `{ ${textOf(script, argument).slice(1, -1).replace(/,\s*$/u, '')}, encoding: 'utf8' }`,
    ),
  },
  {
    name: 'value without its object',
    seen: 'smolagents, mux, vercel run: positional arguments',
    mutate: (script) =>
      script.calls.flatMap((call) => {
        const members = membersOf(call);
        const all = call.argument?.properties.length;
        return members.length > 0 && members.length === all
          ? [replaced(call.argument as Node, members.map(({ member }) => textOf(script, member.value)).join(', '))]
          : [];
      }),
  },
  {
    name: 'arguments left out',
    seen: 'mutation testing: argument deletion',
    mutate: ({ calls }) =>
      calls.flatMap(({ argument, schema }) =>
        argument === undefined || (schema.required ?? []).length === 0 ? [] : [removed(argument)],
      ),
  },
  {
    name: 'arguments as a JSON text',
    seen: 'goose, recorded answers: JSON.stringify of arguments',
    mutate: eachLiteral((_, argument, script) => `JSON.stringify(${textOf(script, argument)})`),
  },
  {
    name: 'arguments in a list',
    seen: 'recorded answers: tools.x([{ … }])',
    mutate: eachLiteral((_, argument, script) => `[${textOf(script, argument)}]`),
  },
  {
    name: 'arguments one level deeper',
    seen: 'recorded answers: { args: { … } }, { input: { … } }',
    mutate: eachLiteral((_, argument, script) => `{ input: ${textOf(script, argument)} }`),
  },
];

// Waiting

const awaits = ({ visits }: ParsedScript) =>
  visits.filter((visit): visit is Visit & { node: NodeOf<'AwaitExpression'> } => visit.node.type === 'AwaitExpression');

function withoutAwait(
  name: string,
  seen: string,
  isMeant: (argument: Node, script: ParsedScript) => boolean,
): Operator {
  return {
    name,
    seen,
    mutate: (script) =>
      awaits(script).flatMap(({ node }) =>
        isMeant(innerExpression(node.argument), script)
          ? [removed({ start: node.start, end: node.argument.start })]
          : [],
      ),
  };
}

function isOwnCall(node: Node, { index }: ParsedScript): boolean {
  return node.type === 'CallExpression' && node.callee.type === 'Identifier' && index.declared.has(node.callee.name);
}

function isPromiseAll(node: Node): boolean {
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return false;
  const { object } = node.callee;
  return object.type === 'Identifier' && object.name === 'Promise';
}

const waiting: Operator[] = [
  withoutAwait('await of a tool left out', 'utcp, mux, smolagents: tools called without await', (node, { calls }) =>
    calls.some((call) => call.node === node),
  ),
  withoutAwait('await of an own function left out', 'mutation testing: await removal', isOwnCall),
  withoutAwait('await of Promise.all left out', 'mutation testing: await removal', isPromiseAll),
  {
    name: 'Promise.all left out',
    seen: 'recorded answers: ids.map(async …) without all',
    mutate: (script) =>
      awaits(script).flatMap(({ node }) => {
        const call = innerExpression(node.argument);
        const [list] = isPromiseAll(call) ? (call as NodeOf<'CallExpression'>).arguments : [];
        return list?.type === 'CallExpression' ? [replaced(node, textOf(script, list))] : [];
      }),
  },
  {
    name: 'forEach with an async function',
    seen: 'recorded answers: forEach(async …)',
    mutate: (script) =>
      script.visits.flatMap(({ node }) => {
        if (node.type !== 'ForOfStatement' || node.await || node.body.type !== 'BlockStatement') return [];
        const body = textOf(script, node.body);
        if (!/\bawait\b/u.test(body) || /\b(?:break|continue|return|yield)\b/u.test(body)) return [];
        const item = node.left.type === 'VariableDeclaration' ? node.left.declarations[0]?.id : undefined;
        if (item === undefined) return [];
        return [replaced(node, `(${textOf(script, node.right)}).forEach(async (${textOf(script, item)}) => ${body});`)];
      }),
  },
  {
    name: 'async filter',
    seen: 'recorded answers: filter(async …)',
    mutate: ({ visits }) =>
      visits.flatMap(({ node, key, parent }) => {
        const call = parent?.node;
        if (key !== 'arguments' || call?.type !== 'CallExpression' || node.type !== 'ArrowFunctionExpression')
          return [];
        const name = call.callee.type === 'MemberExpression' ? memberName(call.callee) : undefined;
        return name === 'filter' && !node.async ? [replaced({ start: node.start, end: node.start }, 'async ')] : [];
      }),
  },
];

// Results

/** The position where `.member` begins. The object before it may end in a bracket that the tree does not have. */
function dotOf({ property, optional }: NodeOf<'MemberExpression'>): number {
  return property.start - (optional ? 2 : 1);
}

function before(node: NodeOf<'MemberExpression'>, text: string): Mutation {
  return replaced({ start: dotOf(node), end: dotOf(node) }, text);
}

/** Calls that are awaited and whose value is used. */
function usedResults(script: ParsedScript): Node[] {
  return awaits(script).flatMap(({ node, parent }) =>
    script.calls.some((call) => call.node === innerExpression(node.argument)) &&
    parent?.node.type !== 'ExpressionStatement'
      ? [node]
      : [],
  );
}

const results: Operator[] = [
  {
    name: 'result asked for .data',
    seen: 'recorded answers: axios habits',
    mutate: (script) => resultReads(script).map(({ node }) => before(node, '.data')),
  },
  {
    name: 'list taken for an object that holds it, or the other way',
    seen: 'TanStack/ai models-eval: wrong response structure',
    mutate: (script) =>
      resultReads(script).flatMap(({ node, key, parent }) =>
        key === 'object' && parent?.node.type === 'MemberExpression'
          ? [removed({ start: dotOf(node), end: node.end })]
          : [],
      ),
  },
  {
    name: 'object taken for a list of objects',
    seen: 'TanStack/ai models-eval: wrong response structure',
    mutate: (script) => resultReads(script).map(({ node }) => before(node, '[0]')),
  },
  {
    name: 'result parsed as JSON',
    seen: 'Anthropic programmatic tool calling: json.loads of results',
    mutate: (script) => usedResults(script).map((node) => replaced(node, `JSON.parse(${textOf(script, node)})`)),
  },
  {
    name: 'result read as an MCP result',
    seen: 'openai/codex code mode: content[0].text',
    mutate: (script) => usedResults(script).map((node) => replaced(node, `(${textOf(script, node)}).content[0].text`)),
  },
  {
    name: 'optional chain left out',
    seen: 'mutation testing (Stryker): optional chaining',
    mutate: ({ visits }) =>
      visits.flatMap(({ node }) =>
        node.type === 'MemberExpression' && node.optional && !node.computed
          ? [replaced({ start: dotOf(node), end: node.property.start }, '.')]
          : [],
      ),
  },
  {
    name: 'default left out',
    seen: 'mutation testing (Stryker): logical operator',
    mutate: ({ visits }) =>
      visits.flatMap(({ node }) =>
        node.type === 'LogicalExpression' && node.operator === '??'
          ? [removed({ start: node.left.end, end: node.right.end })]
          : [],
      ),
  },
];

// The language

const OTHER_METHODS: Readonly<Record<string, string>> = {
  map: 'each',
  push: 'append',
  includes: 'contains',
  length: 'count',
  toUpperCase: 'upper',
  toLowerCase: 'lower',
  trim: 'strip',
  filter: 'where',
  startsWith: 'startswith',
  replaceAll: 'replace_all',
  join: 'implode',
  flatMap: 'flatmap',
  toFixed: 'round',
  slice: 'sliced',
  entries: 'items',
  split: 'explode',
  has: 'contains',
  get: 'fetch',
};

const language: Operator[] = [
  {
    name: 'method of another language',
    seen: 'mutation testing: method replacement; recorded answers: append, contains',
    mutate: ({ visits }) =>
      visits.flatMap(({ node }) => {
        if (node.type !== 'MemberExpression' || node.computed || node.property.type !== 'Identifier') return [];
        const other = Object.hasOwn(OTHER_METHODS, node.property.name) ? OTHER_METHODS[node.property.name] : undefined;
        return other === undefined ? [] : [replaced(node.property, other)];
      }),
  },
  {
    name: 'method misspelled',
    seen: 'mutation testing: method replacement',
    mutate: ({ visits }) =>
      visits.flatMap(({ node, key }) =>
        key === 'callee' && node.type === 'MemberExpression' && node.property.type === 'Identifier' && !node.computed
          ? [replaced(node.property, misspelled(node.property.name))]
          : [],
      ),
  },
  {
    name: 'function of Python',
    seen: 'smolagents, monty: len(x), print(x)',
    mutate: (script) =>
      script.visits.flatMap(({ node }) => {
        if (node.type === 'MemberExpression' && memberName(node) === 'length' && !node.computed)
          return [replaced(node, `len(${textOf(script, node.object)})`)];
        const isConsole =
          node.type === 'CallExpression' && /^(?:console\.log|text)$/u.test(textOf(script, node.callee));
        return isConsole ? [replaced(node.callee, 'print')] : [];
      }),
  },
  {
    name: 'callback that returns nothing',
    seen: 'mutation testing: return value removal; recorded answers: map((x) => { x.y })',
    mutate: (script) =>
      script.visits.flatMap(({ node, key, parent }) => {
        if (key !== 'arguments' || node.type !== 'ArrowFunctionExpression' || !node.expression) return [];
        const call = parent?.node.type === 'CallExpression' ? parent.node.callee : undefined;
        const name = call?.type === 'MemberExpression' ? memberName(call) : undefined;
        return ['map', 'filter', 'find', 'reduce', 'some', 'every', 'flatMap', 'sort'].includes(name ?? '')
          ? [replaced(node.body, `{ ${textOf(script, node.body)}; }`)]
          : [];
      }),
  },
  {
    name: 'arguments swapped',
    seen: 'mutation testing: argument exchange',
    mutate: (script) =>
      script.visits.flatMap(({ node }) => {
        const [first, second, ...others] = node.type === 'CallExpression' ? node.arguments : [];
        if (first === undefined || second === undefined || others.length > 0) return [];
        return [
          [
            { start: first.start, end: first.end, text: textOf(script, second) },
            { start: second.start, end: second.end, text: textOf(script, first) },
          ],
        ];
      }),
  },
  {
    name: 'variable that changes is const',
    seen: 'mutation testing: modifier change',
    mutate: ({ visits, index }) =>
      visits.flatMap(({ node }) => {
        if (node.type !== 'VariableDeclaration' || node.kind !== 'let') return [];
        const [only, ...others] = node.declarations;
        const name = only?.id.type === 'Identifier' && only.init !== null && others.length === 0 ? only.id.name : '';
        const isChanged = (index.references.get(name) ?? []).some(
          ({ key, parent }) => key === 'left' || parent?.node.type === 'UpdateExpression',
        );
        return isChanged ? [replaced({ start: node.start, end: node.start + 3 }, 'const')] : [];
      }),
  },
  {
    name: 'declaration left out',
    seen: 'mutation testing: statement deletion',
    mutate: ({ index }) =>
      index.program.body.flatMap((statement) => {
        const isDeclaration =
          (statement.type === 'VariableDeclaration' && statement.declare !== true) ||
          statement.type === 'FunctionDeclaration';
        return isDeclaration ? [removed(statement)] : [];
      }),
  },
  {
    name: 'return left out of a function',
    seen: 'mutation testing: return value removal',
    mutate: ({ index }) =>
      index.returns.flatMap((visit) => {
        let at = visit.parent;
        while (at !== undefined && !isFunction(at.node)) at = at.parent;
        const { node } = visit;
        return at !== undefined && node.type === 'ReturnStatement' && node.argument !== null
          ? [removed({ start: node.start, end: node.argument.start })]
          : [];
      }),
  },
];

/** Kinds of mistakes at the boundary between a script and its tools, and kinds that models learn from other systems. */
export const OPERATORS: readonly Operator[] = [
  ...toolNames,
  ...tools,
  ...argumentNames,
  ...argumentValues,
  ...waiting,
  ...resultNames,
  destructuredNames,
  ...results,
  variableNames,
  ...language,
];
