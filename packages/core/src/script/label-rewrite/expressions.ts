import type { Node, NodeOf } from '../syntax/syntax.js';
import { Patterns } from './patterns.js';
import { arity, isAnonymous, keyText, LAST, NONE, OPERATORS, quote, shadow, UnsupportedSyntax } from './scopes.js';
import type { Coded } from './scopes.js';

export type RewrittenFunction = NodeOf<'FunctionExpression'> | NodeOf<'ArrowFunctionExpression'>;
export type ClassNode = Extract<NodeOf<'ClassExpression'>, { body: unknown }>;
type Member = NodeOf<'MemberExpression'>;
type Call = NodeOf<'CallExpression'>;

export interface FunctionForm {
  readonly kind: 'function' | 'arrow' | 'method';
  readonly name?: string | undefined;
  /** The name of a method, as its class writes it. */
  readonly prefix?: string | undefined;
}

/** Writes expressions: each leaves its label beside its value. */
export abstract class Expressions extends Patterns {
  protected abstract functionCode(node: RewrittenFunction, form: FunctionForm): string;
  protected abstract classCode(node: ClassNode): string;
  protected abstract accessorBody(node: RewrittenFunction, parameters: string): string;

  protected expression(node: Node, name?: string): Coded {
    switch (node.type) {
      case 'Literal':
        return [this.input.text.slice(node.start, node.end), NONE];
      case 'ParenthesizedExpression':
        return this.expression(node.expression, name);
      case 'Identifier':
        return this.#identifier(node.name);
      case 'ThisExpression':
        return ['this', '$th'];
      case 'MetaProperty':
        if (node.meta.name !== 'new') throw new UnsupportedSyntax(node.type);
        return ['new.target', NONE];
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
      case 'ClassExpression':
        return [this.#definition(node, name ?? ''), NONE];
      default:
        return this.#operation(node);
    }
  }

  #operation(node: Node): Coded {
    switch (node.type) {
      case 'TemplateLiteral':
        return this.#template(node);
      case 'TaggedTemplateExpression':
        return this.#taggedTemplate(node);
      case 'ArrayExpression':
        return [`$.arr([${node.elements.map((element) => this.#element(element)).join()}])`, NONE];
      case 'ObjectExpression':
        return [`$.obj([${node.properties.map((member) => this.#property(member)).join()}])`, NONE];
      case 'UnaryExpression':
        return this.#unary(node);
      case 'UpdateExpression':
        return this.#update(node);
      case 'BinaryExpression':
        return this.#binary(node);
      case 'LogicalExpression':
        return this.#logical(node);
      case 'ConditionalExpression':
        return this.#conditional(node);
      case 'AssignmentExpression':
        return this.#assignment(node);
      case 'SequenceExpression': {
        const parts = node.expressions.map((one) => this.expression(one));
        return [`(${parts.map(([code]) => code).join()})`, parts.at(-1)![1]];
      }
      default:
        return this.#access(node);
    }
  }

  #access(node: Node): Coded {
    switch (node.type) {
      case 'MemberExpression':
        if (node.object.type === 'Super') return this.#superMember(node);
        return [this.#chain(node, (code) => code), LAST];
      case 'ChainExpression':
        return [this.#chain(node.expression, (code) => code), LAST];
      case 'CallExpression':
        return this.#call(node);
      case 'NewExpression': {
        const [code, label] = this.expression(node.callee);
        return [`$.new(${code},${label},${this.#arguments(node.arguments)}${this.branch})`, LAST];
      }
      case 'AwaitExpression': {
        const [code, label] = this.expression(node.argument);
        return [`$.aw($.r=${code},${label},await $.r)`, LAST];
      }
      case 'YieldExpression': {
        const [code, label] = node.argument === null ? (['undefined', NONE] as const) : this.expression(node.argument);
        if (node.delegate) return [`$.yd($f,yield* $.yit(${code},${label},$f,${this.context.isAsync}))`, LAST];
        return [`$.yr($f,yield $.y($f,${code},${label}))`, LAST];
      }
      default:
        throw new UnsupportedSyntax(node.type);
    }
  }

  #identifier(name: string): Coded {
    if (name === 'arguments' && this.find(name) === undefined) {
      this.context.usesArguments = true;
      return [name, NONE];
    }
    if (this.hasShadow(name)) return [name, shadow(name)];
    return [name, this.find(name) === undefined ? `$.g(${quote(name)})` : NONE];
  }

  #definition(node: RewrittenFunction | ClassNode, name: string): string {
    const ownName = node.type !== 'ArrowFunctionExpression' && node.id !== null ? node.id.name : undefined;
    if (isClass(node)) return `$.cls(${this.classCode(node)}${ownName === undefined ? `,${quote(name)}` : ''})`;
    const length = arity(node.params);
    if (node.type === 'ArrowFunctionExpression')
      return `$.fn(${this.functionCode(node, { kind: 'arrow' })},${length},${quote(name)})`;
    const write = () => this.functionCode(node, { kind: 'function', name: ownName });
    const code = ownName === undefined ? write() : this.within(new Map([[ownName, 'plain']]), write);
    return `$.fn(${code},${length}${ownName === undefined ? `,${quote(name)}` : ''})`;
  }

  #template({ quasis, expressions }: NodeOf<'TemplateLiteral'>): Coded {
    if (expressions.length === 0) return [`\`${quasis[0]!.value.raw}\``, NONE];
    const texts = quasis.map(({ value }) => quote(value.cooked ?? ''));
    return [`$.tpl([${texts.join()}],[${this.#flat(expressions, (label) => label)}])`, LAST];
  }

  #flat(expressions: readonly Node[], label: (label: string) => string): string {
    return expressions
      .map((one) => {
        const [code, own] = this.expression(one);
        return `${code},${label(own)}`;
      })
      .join();
  }

  #taggedTemplate({ tag, quasi }: NodeOf<'TaggedTemplateExpression'>): Coded {
    const cooked = quasi.quasis.map(({ value }) => (value.cooked === null ? 'undefined' : quote(value.cooked)));
    const raw = quasi.quasis.map(({ value }) => quote(value.raw));
    const site = `$.site(${this.next()},[${cooked.join()}],[${raw.join()}]),0`;
    const values = this.#flat(quasi.expressions, (label) => this.branched(label));
    const given = `[${values === '' ? site : `${site},${values}`}]`;
    if (tag.type === 'MemberExpression' && tag.object.type !== 'Super') {
      const [object, objectLabel] = this.expression(tag.object);
      const [key, keyLabel] = this.#memberKey(tag);
      const method = `$.m(${object},${objectLabel},${key},${keyLabel}),$.l,$.th,$.lth`;
      return [`$.call(${method},${given}${this.branch})`, LAST];
    }
    const [code, label] = this.expression(tag);
    return [`$.call(${code},${label},undefined,0,${given}${this.branch})`, LAST];
  }

  #element(element: Node | null): string {
    if (element === null) return '$.H,0';
    const isSpread = element.type === 'SpreadElement';
    const [code, label] = this.expression(isSpread ? element.argument : element);
    return isSpread ? `...$.spread(${code},${label})` : `${code},${label}`;
  }

  #arguments(list: readonly Node[]): string {
    const given = list.map((one) => {
      if (one.type === 'SpreadElement') return this.#element(one);
      const [code, label] = this.expression(one);
      return `${code},${this.branched(label)}`;
    });
    return `[${given.join()}]`;
  }

  #property(member: NodeOf<'ObjectExpression'>['properties'][number]): string {
    if (member.type === 'SpreadElement') {
      const [code, label] = this.expression(member.argument);
      return `"...",0,0,${code},${label}`;
    }
    const { key, kind, method, computed, shorthand, value } = member;
    const [keyCode, keyLabel] = computed ? this.expression(key) : ([keyText(key), NONE] as const);
    const head = `${keyCode},${keyLabel}`;
    if (kind !== 'init') return `${quote(kind)},${head},${this.#accessor(kind, value as RewrittenFunction)},0`;
    if (method) return `"v",${head},${this.#method(member, keyCode)},0`;
    const [code, label] =
      isAnonymous(value) && !computed ? this.expression(value, String(JSON.parse(keyCode))) : this.expression(value);
    const isPrototype = !computed && !shorthand && keyCode === '"__proto__"';
    return `${isPrototype ? '"proto"' : '"v"'},${head},${code},${label}`;
  }

  #accessor(kind: 'get' | 'set', value: RewrittenFunction): string {
    const parameters = kind === 'set' ? '$v' : '';
    return `$.accr({${kind} x(${parameters}){${this.accessorBody(value, parameters)}}},${quote(kind)})`;
  }

  #method({ key, value, computed }: NodeOf<'Property'>, keyCode: string): string {
    const node = value as RewrittenFunction;
    const prefix = computed ? 'x' : this.input.text.slice(key.start, key.end);
    const code = this.functionCode(node, { kind: 'method', prefix });
    return `$.fn($.hm({${code}},${computed ? '"x"' : keyCode}),${arity(node.params)}${computed ? '' : `,${keyCode}`})`;
  }

  #unary({ operator, argument }: NodeOf<'UnaryExpression'>): Coded {
    if (operator === 'delete') return this.#delete(argument);
    const [code, label] = this.expression(argument);
    if (operator === 'typeof' && argument.type === 'Identifier') return [`typeof ${code}`, label];
    if (operator === 'void') return [`void ${code}`, NONE];
    if ((operator === '!' || operator === 'typeof') && isSimple(argument)) return [`(${operator} ${code})`, label];
    if (argument.type === 'Literal') return [`(${operator} ${code})`, NONE];
    return [`$.un(${quote(operator)},${code},${label})`, LAST];
  }

  #delete(argument: Node): Coded {
    const member = argument.type === 'ChainExpression' ? argument.expression : argument;
    if (member.type !== 'MemberExpression') return ['true', NONE];
    const [object, objectLabel] = this.expression(member.object);
    const [key, keyLabel] = this.#memberKey(member);
    return [`$.${member.optional ? 'del1' : 'del'}(${object},${objectLabel},${key},${keyLabel})`, LAST];
  }

  #update({ argument, operator, prefix }: NodeOf<'UpdateExpression'>): Coded {
    if (argument.type === 'Identifier') {
      const { name } = argument;
      const code = prefix ? `${operator}${name}` : `${name}${operator}`;
      if (!this.hasShadow(name)) return [code, NONE];
      const label = shadow(name);
      return [`(${label}=$.up(${name},${this.branched(label)}),${code})`, label];
    }
    if (argument.type !== 'MemberExpression') throw new UnsupportedSyntax(argument.type);
    if (argument.property.type === 'PrivateIdentifier') {
      const object = this.temporary();
      const { name } = argument.property;
      const [code] = this.expression(argument.object);
      const change = `${prefix ? operator : ''}${object}.#${name}${prefix ? '' : operator}`;
      return [`$.pget(${object}=${code},0,"#${name}",$.z0(),${change})`, LAST];
    }
    const [object, objectLabel] = this.expression(argument.object);
    const [key, keyLabel] = this.#memberKey(argument);
    const step = operator === '++' ? 1 : -1;
    return [`$.upd(${object},${objectLabel},${key},${keyLabel},${step},${prefix}${this.branch})`, LAST];
  }

  #binary({ left, right, operator }: NodeOf<'BinaryExpression'>): Coded {
    if (left.type === 'PrivateIdentifier') {
      const [code, label] = this.expression(right);
      return [`(#${left.name} in ${code})`, label];
    }
    const [a, aLabel] = this.expression(left);
    const [b, bLabel] = this.expression(right);
    const name = WORD_OPERATORS[operator] ?? OPERATORS[operator];
    if (name === undefined) throw new UnsupportedSyntax(operator);
    return [`$.${name}(${a},${aLabel},${b},${bLabel})`, LAST];
  }

  #logical({ left, right, operator }: NodeOf<'LogicalExpression'>): Coded {
    const [a, aLabel] = this.expression(left);
    const value = this.temporary();
    const label = this.temporary();
    const [b, bLabel] = this.expression(right);
    const test = isTaken(operator, value);
    return [`((${value}=${a},${label}=${aLabel},${test})?$.sj(${b},${bLabel},${label}):$.s(${value},${label}))`, LAST];
  }

  #conditional({ test, consequent, alternate }: NodeOf<'ConditionalExpression'>): Coded {
    const [code, codeLabel] = this.expression(test);
    const label = this.temporary();
    const value = this.temporary();
    const [a, aLabel] = this.expression(consequent);
    const [b, bLabel] = this.expression(alternate);
    const head = `(${value}=${code},${label}=${codeLabel},${value})`;
    return [`(${head}?$.sj(${a},${aLabel},${label}):$.sj(${b},${bLabel},${label}))`, LAST];
  }

  #assignment({ left, right, operator }: NodeOf<'AssignmentExpression'>): Coded {
    if (operator !== '=') return this.#compound(left, operator.slice(0, -1), right);
    if (left.type === 'Identifier') {
      const [code, label] = this.named(right, left);
      if (!this.hasShadow(left.name)) return [`(${left.name}=${code})`, label];
      return [`(${this.assignVariable(left.name, code, label).join()},${left.name})`, shadow(left.name)];
    }
    if (left.type === 'MemberExpression') return this.#assignToMember(left, right);
    const value = this.temporary();
    const label = this.temporary();
    const [code, codeLabel] = this.expression(right);
    const out = [`${value}=${code}`, `${label}=${codeLabel}`];
    this.bind(left, [value, label], out, this.assignVariable);
    return [`(${out.join()},${value})`, label];
  }

  /** `a.b = c`, in the order of the language: object, key, value. */
  #assignToMember(target: Member, right: Node): Coded {
    if (target.object.type === 'Super' || target.property.type === 'PrivateIdentifier')
      return this.assignMember(target, this.expression(right));
    const [object, objectLabel] = this.expression(target.object);
    const [key, keyLabel] = this.#memberKey(target);
    const [value, label] = this.expression(right);
    return [`$.set(${object},${objectLabel},${key},${keyLabel},${value},${this.branched(label)})`, LAST];
  }

  protected assignMember(target: Member, [value, label]: Coded): Coded {
    const own = this.branched(label);
    if (target.object.type === 'Super')
      return [`$.set(this,$th,${this.#memberKey(target)[0]},0,${value},${own})`, LAST];
    const [object, objectLabel] = this.expression(target.object);
    if (target.property.type === 'PrivateIdentifier') {
      const [to, one, oneLabel] = [this.temporary(), this.temporary(), this.temporary()];
      const { name } = target.property;
      const head = `${to}=${object},${one}=${value},${oneLabel}=${own},$.clear()`;
      return [`(${head},${to}.#${name}=${one},$.pset(${to},"#${name}",${oneLabel}),${one})`, oneLabel];
    }
    const [key, keyLabel] = this.#memberKey(target);
    return [`$.set(${object},${objectLabel},${key},${keyLabel},${value},${own})`, LAST];
  }

  #compound(target: Node, operator: string, right: Node): Coded {
    if (target.type === 'Identifier') return this.#compoundVariable(target, operator, right);
    if (target.type !== 'MemberExpression' || target.object.type === 'Super') throw new UnsupportedSyntax(target.type);
    if (target.property.type === 'PrivateIdentifier')
      return this.#compoundPrivate(target, target.property.name, operator, right);
    const [object, objectLabel] = this.expression(target.object);
    const [key, keyLabel] = this.#memberKey(target);
    const at = [this.temporary(), this.temporary(), this.temporary(), this.temporary()] as const;
    const place = at.join();
    const [value, label] = this.expression(right);
    const head = `${at[0]}=${object},${at[1]}=${objectLabel},${at[2]}=$.key(${key}),${at[3]}=${keyLabel}`;
    if (isLogical(operator)) {
      const [old, oldLabel] = [this.temporary(), this.temporary()];
      const change = `$.set(${place},${value},$.join(${this.branched(label)},${oldLabel}))`;
      const read = `${old}=$.get(${place}),${oldLabel}=$.l`;
      return [`(${head},${read},${isTaken(operator, old)}?${change}:$.s(${old},${oldLabel}))`, LAST];
    }
    const changed = `$.${OPERATORS[operator]}($.get(${place}),$.l,${value},${label})`;
    return [`(${head},$.set(${place},${changed},${this.branched(LAST)}))`, LAST];
  }

  #compoundVariable(target: NodeOf<'Identifier'>, operator: string, right: Node): Coded {
    const { name } = target;
    const own = this.hasShadow(name) ? shadow(name) : NONE;
    if (!isLogical(operator)) {
      const [value, label] = this.expression(right);
      const change = this.assignVariable(name, `$.${OPERATORS[operator]}(${name},${own},${value},${label})`, LAST);
      return [`(${change.join()},${name})`, own];
    }
    const [value, label] = this.named(right, target);
    const [one, oneLabel] = [this.temporary(), this.temporary()];
    const change = this.assignVariable(name, one, oneLabel).join();
    const head = `${one}=${value},${oneLabel}=$.join(${label},${own})`;
    return [`(${isTaken(operator, name)}?(${head},${change},${name}):${name})`, own];
  }

  #compoundPrivate(target: Member, name: string, operator: string, right: Node): Coded {
    const [to, one, oneLabel] = [this.temporary(), this.temporary(), this.temporary()];
    const [object] = this.expression(target.object);
    const [value, label] = this.expression(right);
    const isMethod = this.input.privateMembers.has(name);
    const old = `$.pget(${to},0,"#${name}",$.z0(),${to}.#${name},${isMethod})`;
    const write = `${to}.#${name}=${one},$.pset(${to},"#${name}",${oneLabel}),${one}`;
    if (isLogical(operator)) {
      const change = `(${one}=${value},${oneLabel}=$.join(${this.branched(label)},${oneLabel}),${write})`;
      const read = `${to}=${object},${one}=${old},${oneLabel}=$.l`;
      return [`(${read},${isTaken(operator, one)}?${change}:${one})`, oneLabel];
    }
    const changed = `${one}=$.${OPERATORS[operator]}(${old},$.l,${value},${label})`;
    return [`(${to}=${object},${changed},${oneLabel}=${this.branched(LAST)},${write})`, oneLabel];
  }

  #memberKey({ computed, property }: Member): Coded {
    if (computed) return this.expression(property);
    if (property.type !== 'Identifier') throw new UnsupportedSyntax(property.type);
    return [quote(property.name), NONE];
  }

  #readMember(node: Member, object: string, objectLabel: string): string {
    const { property } = node;
    if (property.type === 'PrivateIdentifier') {
      const to = this.temporary();
      const isMethod = this.input.privateMembers.has(property.name);
      return `$.pget(${to}=${object},${objectLabel},"#${property.name}",$.z0(),${to}.#${property.name},${isMethod})`;
    }
    const [key, keyLabel] = this.#memberKey(node);
    return `$.get(${object},${objectLabel},${key},${keyLabel})`;
  }

  #superMember(node: Member): Coded {
    const [key] = this.#memberKey(node);
    const read = node.computed
      ? `super[${key}]`
      : `super.${this.input.text.slice(node.property.start, node.property.end)}`;
    return [`$.sget($.z0(),${read},this,${key})`, LAST];
  }

  #call(node: Call): Coded {
    const { callee } = node;
    const given = () => `${this.#arguments(node.arguments)}${this.branch}`;
    if (callee.type === 'Super') return [`(super(...$.sup(${given()})),$.supd(this),this)`, NONE];
    if (callee.type === 'MemberExpression' && callee.object.type === 'Super')
      return [`$.call(${this.#superMember(callee)[0]},0,this,$th,${given()})`, LAST];
    return [this.#chain(node, (code) => code), LAST];
  }

  /** A chain such as `a?.b.c(d)`. `then` writes what follows the value of the node; it does not run if the chain ends. */
  #chain(node: Node, then: (code: string, label: string) => string): string {
    if (node.type === 'ChainExpression') return this.#chain(node.expression, then);
    if (node.type === 'MemberExpression' && node.object.type !== 'Super') {
      const read = (code: string, label: string) => then(this.#readMember(node, code, label), LAST);
      return this.#chain(node.object, node.optional ? this.#unlessNullish(read) : read);
    }
    if (node.type === 'CallExpression' && node.callee.type !== 'Super') return this.#callChain(node, then);
    return then(...this.expression(node));
  }

  #unlessNullish(then: (code: string, label: string) => string): (code: string, label: string) => string {
    return (code, label) => {
      const [value, own] = [this.temporary(), this.temporary()];
      return `((${value}=${code},${own}=${label},${value})==null?$.s(undefined,${own}):${then(value, own)})`;
    };
  }

  #callChain(node: Call, then: (code: string, label: string) => string): string {
    const { callee } = node;
    const given = () => `${this.#arguments(node.arguments)}${this.branch}`;
    if (callee.type === 'MemberExpression' && callee.object.type !== 'Super') {
      const run = (code: string, label: string) => then(this.#callMember(node, callee, [code, label]), LAST);
      return this.#chain(callee.object, callee.optional ? this.#unlessNullish(run) : run);
    }
    const run = (code: string, label: string) => then(`$.call(${code},${label},undefined,0,${given()})`, LAST);
    return this.#chain(callee, node.optional ? this.#unlessNullish(run) : run);
  }

  #callMember(node: Call, callee: Member, [object, objectLabel]: Coded): string {
    const { property } = callee;
    if (property.type === 'PrivateIdentifier') {
      const [to, own] = [this.temporary(), this.temporary()];
      const read = `$.z1(${to}=${object},${own}=${objectLabel}).#${property.name}`;
      const given = this.#arguments(node.arguments);
      // A private method is always a function of the script; a private field may hold any function.
      const isOwn = this.input.privateMembers.get(property.name) === 'method';
      const branch = isOwn ? `${this.branch === '' ? ',0' : this.branch},1` : this.branch;
      return `$.call(${read},0,${to},${own},${given}${branch})`;
    }
    const [key, keyLabel] = this.#memberKey(callee);
    const given = `${this.#arguments(node.arguments)}${this.branch}`;
    if (!node.optional) return `$.call($.m(${object},${objectLabel},${key},${keyLabel}),$.l,$.th,$.lth,${given})`;
    const [to, own, method, methodLabel] = [this.temporary(), this.temporary(), this.temporary(), this.temporary()];
    const read = `${to}=${object},${own}=${objectLabel},${method}=$.get(${to},${own},${key},${keyLabel})`;
    const head = `(${read},${methodLabel}=$.l,${method})`;
    return `(${head}==null?$.s(undefined,${methodLabel}):$.call(${method},${methodLabel},${to},${own},${given}))`;
  }
}

function isClass(node: RewrittenFunction | ClassNode): node is ClassNode {
  return node.type === 'ClassExpression';
}

const WORD_OPERATORS: Readonly<Record<string, string>> = {
  '===': 'same',
  '!==': 'differ',
  in: 'isin',
  instanceof: 'inst',
};

function isSimple({ type }: Node): boolean {
  return type === 'Literal' || type === 'Identifier' || type === 'ThisExpression';
}

function isLogical(operator: string): boolean {
  return operator === '&&' || operator === '||' || operator === '??';
}

/** The test whether the right side of a logical operator is evaluated. */
function isTaken(operator: string, value: string): string {
  if (operator === '&&') return value;
  return operator === '||' ? `!${value}` : `${value}==null`;
}
