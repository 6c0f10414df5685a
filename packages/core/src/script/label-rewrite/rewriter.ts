import type { Node, NodeOf } from '../syntax/syntax.js';
import { Expressions, type ClassNode, type FunctionForm, type RewrittenFunction } from './expressions.js';
import { assignedNames, mayJump, patternNames, varNames } from './names.js';
import {
  arity,
  isAnonymous,
  keyText,
  newContext,
  NONE,
  quote,
  shadow,
  UnsupportedSyntax,
  type Coded,
  type FunctionContext,
  type NameKind,
} from './scopes.js';

type Names = Map<string, NameKind>;
type Loop = NodeOf<'ForOfStatement'> | NodeOf<'ForInStatement'>;
/** Writes a test that raises the label of the branch. */
type Guard = (test: Coded) => string;

/** Writes statements, functions and classes. */
export class Rewriter extends Expressions {
  /** The whole script, as a function that receives the runtime. */
  script(root: RewrittenFunction): string {
    return `($)=>{"use strict";const $th=0;return ${this.functionCode(root, { kind: 'arrow' })}}`;
  }

  protected functionCode(node: RewrittenFunction, { kind, name = '', prefix = '' }: FunctionForm): string {
    const { async: isAsync } = node;
    const isGenerator = node.type !== 'ArrowFunctionExpression' && node.generator;
    const receiver = kind === 'arrow' ? '' : ',$th=$f.t';
    const body = this.#functionBody(node, kind === 'arrow');
    let code = `const $f=$.enter($a)${receiver};${body}`;
    if (isGenerator) code = `const $a=$f.v${receiver};${body}`;
    else if (isAsync)
      code = `const $f=$.enter($a)${receiver};return $.link((async()=>{try{${body}}catch($e){$f.rej=$.caught($e);throw $.thr($e,$f.rej)}})(),$f);`;
    if (kind === 'arrow') return `(...$a)=>{${code}}`;
    const parameters = isGenerator ? '...{$f=$.enterGen(arguments)}' : '...$a';
    const before = isAsync && isGenerator ? 'async ' : '';
    if (kind === 'method') return `${before}${isGenerator ? '*' : ''}${prefix}(${parameters}){${code}}`;
    return `${before}function${isGenerator ? '*' : ''} ${name}(${parameters}){${code}}`;
  }

  protected accessorBody(node: RewrittenFunction, parameters: string): string {
    return `const $a=[${parameters}];const $f=$.enter($a),$th=$f.t;${this.#functionBody(node, false)}`;
  }

  #functionBody({ params, body, async: isAsync, ...node }: RewrittenFunction, isArrow: boolean): string {
    const isGenerator = node.type !== 'ArrowFunctionExpression' && node.generator;
    const context = newContext({ isArrow, isAsync, isGenerator });
    const statements = body?.type === 'BlockStatement' ? body.body : [];
    const own: Names = new Map(params.flatMap((one) => patternNames(one)).map((name) => [name, 'labelled']));
    const declared = varNames(statements).filter((name) => !own.has(name));
    return this.inFunction(context, () =>
      this.within(own, () => {
        const parameters = params.map((one, index) => this.#parameter(one, index)).join('');
        const inner: Names = new Map(declared.map((name) => [name, 'labelled']));
        for (const [name, kind] of this.#blockNames(statements)) inner.set(name, kind);
        return this.within(inner, () => {
          const variables = [...new Set(declared)].map((name) => `var ${name}, ${shadow(name)};`).join('');
          const code = body?.type === 'BlockStatement' ? `${this.#statements(statements)}\n$.l=0;` : this.#return(body);
          const given = context.usesArguments ? '$.args(arguments,$f);' : '';
          const branch = this.input.control ? 'let $pc=$f.pc;' : '';
          return `${branch}${this.declareTemporaries(context)}${given}${parameters}${variables}${code}`;
        });
      }),
    );
  }

  #parameter(parameter: Node, index: number): string {
    if (parameter.type === 'RestElement')
      return this.declare('let', parameter.argument, [`$.rest($a,$f,${index})`, NONE]);
    return this.declare('let', parameter, [`$a[${index}]`, `$f.a(${index})`]);
  }

  #return(value: Node | null): string {
    const [code, label] = value === null ? (['undefined', NONE] as const) : this.expression(value);
    const { isAsync, isGenerator } = this.context;
    if (isAsync && !isGenerator) return `return $.ra($f,${code},${this.branched(label)});`;
    return `return $.ret(${code},${this.branched(label)}${isGenerator ? ',$f' : ''});`;
  }

  protected classCode(node: ClassNode): string {
    if (node.decorators.length > 0) throw new UnsupportedSyntax('decorator');
    const heritage = node.superClass === null ? '' : ` extends (${this.expression(node.superClass)[0]})`;
    const names: Names = new Map(node.id === null ? [] : [[node.id.name, this.find(node.id.name) ?? 'plain']]);
    const members = this.within(names, () => node.body.body.map((member) => this.#member(member)).join('\n'));
    return `class ${node.id?.name ?? ''}${heritage}{${members}}`;
  }

  #member(member: Node): string {
    if (member.type === 'StaticBlock') return `static {(()=>{${this.#initializer(() => this.#block(member.body))}})()}`;
    if (member.type !== 'MethodDefinition' && member.type !== 'PropertyDefinition')
      throw new UnsupportedSyntax(member.type);
    if (member.decorators.length > 0) throw new UnsupportedSyntax('decorator');
    const before = member.static ? 'static ' : '';
    const key = member.computed
      ? `[${this.expression(member.key)[0]}]`
      : this.input.text.slice(member.key.start, member.key.end);
    if (!('kind' in member)) return `${before}${key}${this.#field(member, key)};`;
    const value = member.value as RewrittenFunction;
    if (member.kind === 'get') return `${before}get ${key}(){${this.accessorBody(value, '')}}`;
    if (member.kind === 'set') return `${before}set ${key}($v){${this.accessorBody(value, '$v')}}`;
    return before + this.functionCode(value, { kind: 'method', prefix: key });
  }

  #field({ key, value, computed }: NodeOf<'PropertyDefinition'>, text: string): string {
    if (value === null) return '';
    // The label of a field with a computed name would need the name.
    if (computed) throw new UnsupportedSyntax('field with a computed name');
    const isPrivate = key.type === 'PrivateIdentifier';
    const name = isPrivate ? text : key.type === 'Identifier' ? key.name : '';
    const code = this.#initializer(() => {
      const [one, label] = isAnonymous(value) ? this.expression(value, name) : this.expression(value);
      return `return $.field(this,${isPrivate ? quote(text) : keyText(key)},${one},${label});`;
    });
    return `=(()=>{${code}})()`;
  }

  /** Code that runs when an object or a class is made. */
  #initializer(write: () => string): string {
    const context: FunctionContext = newContext();
    const code = this.inFunction(context, write);
    return `const $th=0;${this.input.control ? 'let $pc=0;' : ''}${this.declareTemporaries(context)}${code}`;
  }

  #blockNames(statements: readonly Node[]): Names {
    const names: Names = new Map();
    for (const statement of statements) {
      if (statement.type === 'VariableDeclaration' && statement.kind !== 'var') {
        for (const { id } of statement.declarations) for (const name of patternNames(id)) names.set(name, 'labelled');
      } else if (isNamedDefinition(statement)) {
        const { name } = statement.id!;
        names.set(name, this.input.reassigned.has(name) ? 'hoisted' : 'plain');
      }
    }
    return names;
  }

  /** Functions are registered at the beginning of their block. */
  #statements(list: readonly Node[]): string {
    let head = '';
    for (const statement of list) {
      if (!isNamedDefinition(statement)) continue;
      const { name } = statement.id!;
      if (this.find(name) === 'hoisted') head += `let ${shadow(name)}=0;`;
      if (statement.type === 'FunctionDeclaration') head += `$.fn(${name},${arity(statement.params)});`;
    }
    return head + list.map((statement) => this.#statement(statement)).join('\n');
  }

  #block(list: readonly Node[]): string {
    return this.within(this.#blockNames(list), () => `{${this.#statements(list)}}`);
  }

  #statement(node: Node): string {
    switch (node.type) {
      case 'ExpressionStatement':
        return `;${this.expression(node.expression)[0]};`;
      case 'VariableDeclaration':
        return node.declarations.map((one) => this.#declaration(node.kind, one)).join('');
      case 'FunctionDeclaration':
        return this.functionCode(node as unknown as RewrittenFunction, { kind: 'function', name: node.id!.name });
      case 'ClassDeclaration':
        return `${this.classCode(node as unknown as ClassNode)};$.cls(${node.id!.name});`;
      case 'ReturnStatement':
        return this.#return(node.argument);
      case 'ThrowStatement': {
        const [code, label] = this.expression(node.argument);
        return `throw $.thr(${code},${this.branched(label)});`;
      }
      case 'BlockStatement':
        return this.#block(node.body);
      case 'EmptyStatement':
      case 'DebuggerStatement':
        return ';';
      case 'BreakStatement':
        return `break${node.label === null ? '' : ` ${node.label.name}`};`;
      case 'ContinueStatement':
        return `continue${node.label === null ? '' : ` ${node.label.name}`};`;
      default:
        return this.#controlStatement(node);
    }
  }

  #controlStatement(node: Node): string {
    switch (node.type) {
      case 'IfStatement': {
        const { test, consequent, alternate } = node;
        const otherwise = () => (alternate === null ? '' : `else ${this.#body(alternate)}`);
        return this.#guarded(
          node,
          (guard) => `if(${guard(this.expression(test))})${this.#body(consequent)}${otherwise()}`,
        );
      }
      case 'WhileStatement':
        return this.#guarded(node, (guard) => `while(${guard(this.expression(node.test))})${this.#body(node.body)}`);
      case 'DoWhileStatement':
        return this.#guarded(node, (guard) => {
          const body = this.#body(node.body);
          return `do ${body} while(${guard(this.expression(node.test))});`;
        });
      case 'ForStatement':
        return this.#for(node);
      case 'ForOfStatement':
      case 'ForInStatement':
        return this.#forEach(node);
      case 'LabeledStatement': {
        const body = this.#statement(node.body);
        const raised = this.input.control ? /^\{\$\d+=\$pc;/u.exec(body) : null;
        if (raised === null) return `${node.label.name}:${body}`;
        return `${raised[0]}${node.label.name}:${body.slice(raised[0].length)}`;
      }
      case 'TryStatement':
        return this.#try(node);
      case 'SwitchStatement':
        return this.#switch(node);
      default:
        throw new UnsupportedSyntax(node.type);
    }
  }

  #declaration(kind: string, { id, init }: NodeOf<'VariableDeclarator'>): string {
    if (init === null) {
      if (kind === 'var') return '';
      if (id.type !== 'Identifier') throw new UnsupportedSyntax(id.type);
      return this.declare(kind, id, ['undefined', NONE]);
    }
    const value = this.named(init, id);
    if (kind !== 'var') return this.declare(kind, id, value);
    const out: string[] = [];
    this.bind(id, value, out, this.assignVariable);
    return `${out.join()};`;
  }

  /**
   * Runs a branch under the label of its test. Both branches count: the variables that either may assign get the label.
   * `own`: the variables that the statement itself declares.
   */
  #guarded(node: Node, write: (guard: Guard) => string, own: ReadonlyMap<string, unknown> = new Map()): string {
    if (!this.input.control) return write(([code]) => code);
    const before = this.temporary();
    const test = this.temporary();
    const text = write(([code, label]) => `$.t(${test}=${code},$pc=$.join($pc,${label}),${test})`);
    const raised = [...assignedNames(node)]
      .filter((name) => this.hasShadow(name) && !own.has(name))
      .map((name) => `try{${shadow(name)}=$.join(${shadow(name)},$pc)}catch{}`);
    return `{${before}=$pc;${text}${raised.join('')}${mayJump(node) ? '' : `$pc=${before};`}}`;
  }

  #body(node: Node): string {
    return node.type === 'BlockStatement' ? this.#statement(node) : `{${this.#statement(node)}}`;
  }

  #for(node: NodeOf<'ForStatement'>): string {
    const { init, test, update } = node;
    const isDeclaration = init?.type === 'VariableDeclaration' && init.kind !== 'var';
    const names = isDeclaration ? this.#blockNames([init]) : new Map();
    return this.within(names, () => {
      const before = init?.type === 'VariableDeclaration' && !isDeclaration ? this.#statement(init) : '';
      const head = isDeclaration
        ? this.#loopVariables(init)
        : init === null || init.type === 'VariableDeclaration'
          ? ''
          : this.expression(init)[0];
      const loop = (guard: Guard) => {
        const condition = test === null ? '' : guard(this.expression(test));
        const step = update === null ? '' : this.expression(update)[0];
        return `for(${head};${condition};${step})${this.#body(node.body)}`;
      };
      return before + this.#guarded(node, loop, names);
    });
  }

  #loopVariables({ kind, declarations }: NodeOf<'VariableDeclaration'>): string {
    if (kind !== 'let' && kind !== 'const') throw new UnsupportedSyntax(`declaration with ${kind}`);
    const parts = declarations.flatMap(({ id, init }) => {
      const value: Coded = init === null ? ['undefined', NONE] : this.named(init, id);
      if (id.type === 'Identifier') return [`${id.name}=${value[0]},${shadow(id.name)}=${this.branched(value[1])}`];
      const [code, names] = this.bindToTemporaries(id, value);
      return [
        `$x${this.next()}=(${code.join()})`,
        ...names.map(([name, one, oneLabel]) => `${name}=${one},${shadow(name)}=${oneLabel}`),
      ];
    });
    return `${kind} ${parts.join()}`;
  }

  #forEach(node: Loop): string {
    const [code, label] = this.expression(node.right);
    const number = this.next();
    const [value, own] = [`$v${number}`, `$w${number}`];
    const isAwait = node.type === 'ForOfStatement' && node.await;
    const iterator = isAwait ? this.temporary() : undefined;
    let head = `for(const ${value} of $.it(${code},${label}))`;
    if (node.type === 'ForInStatement') head = `for(const ${value} of $.forin(${code},${label}))`;
    else if (iterator !== undefined) head = `for await(const ${value} of (${iterator}=$.ait(${code},${label})).o)`;
    const { left } = node;
    const declared = left.type === 'VariableDeclaration' && left.kind !== 'var' ? left : undefined;
    const names = declared === undefined ? new Map() : this.#blockNames([declared]);
    return this.within(names, () =>
      this.#guarded(
        node,
        () => {
          const bound = this.#loopTarget(left, [value, own]);
          const taken = iterator === undefined ? '$.il' : `${iterator}.lab(${value})`;
          const raised = this.input.control ? '$pc=$.join($pc,$.itl);' : '';
          return `${head}{const ${own}=${taken};${raised}${bound}${this.#body(node.body)}}`;
        },
        names,
      ),
    );
  }

  #loopTarget(left: Loop['left'], value: Coded): string {
    if (left.type === 'VariableDeclaration' && left.kind !== 'var')
      return this.declare(left.kind, left.declarations[0]!.id, value);
    const out: string[] = [];
    const target = left.type === 'VariableDeclaration' ? left.declarations[0]!.id : left;
    this.bind(target, value, out, this.assignVariable);
    return `${out.join()};`;
  }

  #try({ block, handler, finalizer }: NodeOf<'TryStatement'>): string {
    let code = `try${this.#block(block.body)}`;
    if (handler !== null) {
      const error = `$e${this.next()}`;
      const names: Names = new Map(patternNames(handler.param).map((name) => [name, 'labelled']));
      code += this.within(names, () => {
        const raised = this.input.control ? `$pc=$.join($pc,${error}l);` : '';
        const bound = handler.param === null ? '' : this.declare('let', handler.param, [error, `${error}l`]);
        return `catch(${error}){const ${error}l=$.caught(${error});${raised}${bound}${this.#block(handler.body.body)}}`;
      });
    }
    if (finalizer === null) return code;
    const kept = `$s${this.next()}`;
    return `${code}finally{const ${kept}=$.l;${this.#block(finalizer.body)};$.l=${kept};}`;
  }

  #switch(node: NodeOf<'SwitchStatement'>): string {
    const names = this.#blockNames(node.cases.flatMap(({ consequent }) => consequent));
    return this.within(names, () =>
      this.#guarded(
        node,
        (guard) => {
          const cases = node.cases.map(({ test, consequent }) => {
            const head = test === null ? 'default:' : `case ${this.expression(test)[0]}:`;
            return head + this.#statements(consequent);
          });
          return `switch(${guard(this.expression(node.discriminant))}){${cases.join('\n')}}`;
        },
        names,
      ),
    );
  }
}

function isNamedDefinition(node: Node): node is NodeOf<'FunctionDeclaration'> | NodeOf<'ClassDeclaration'> {
  return (node.type === 'FunctionDeclaration' || node.type === 'ClassDeclaration') && node.id !== null;
}
