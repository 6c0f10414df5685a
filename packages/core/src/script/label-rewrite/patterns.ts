import type { Node, NodeOf } from '../syntax/syntax.js';
import { isAnonymous, keyText, LAST, NONE, Scopes, shadow, UnsupportedSyntax, type Coded } from './scopes.js';

/** Writes the assignment of a value with its label to a name. */
export type Assign = (name: string, value: string, label: string) => readonly string[];

/** Writes destructuring: patterns become temporaries and plain assignments. */
export abstract class Patterns extends Scopes {
  /** Code of an expression. `name`: the name that an anonymous function or class gets. */
  protected abstract expression(node: Node, name?: string): Coded;
  protected abstract assignMember(target: NodeOf<'MemberExpression'>, value: Coded): Coded;

  /** Adds pieces of code that assign the value to the pattern. */
  protected bind(pattern: Node, [value, label]: Coded, out: string[], assign: Assign): void {
    switch (pattern.type) {
      case 'Identifier':
        out.push(...assign(pattern.name, value, label));
        return;
      case 'MemberExpression':
        out.push(this.assignMember(pattern, [value, label])[0]);
        return;
      case 'AssignmentPattern':
        return this.#bindDefault(pattern, [value, label], out, assign);
      case 'ObjectPattern':
        return this.#bindObject(pattern, [value, label], out, assign);
      case 'ArrayPattern':
        return this.#bindArray(pattern, [value, label], out, assign);
      default:
        throw new UnsupportedSyntax(pattern.type);
    }
  }

  #bindDefault({ left, right }: NodeOf<'AssignmentPattern'>, given: Coded, out: string[], assign: Assign): void {
    const value = this.temporary();
    const label = this.temporary();
    const otherwise = this.settled(this.named(right, left));
    out.push(`${value}=${given[0]}`, `${label}=${given[1]}`);
    out.push(`${value}=${value}===undefined?${otherwise}:$.s(${value},${label})`, `${label}=${LAST}`);
    this.bind(left, [value, label], out, assign);
  }

  #bindObject({ properties }: NodeOf<'ObjectPattern'>, given: Coded, out: string[], assign: Assign): void {
    const object = this.temporary();
    const objectLabel = this.temporary();
    const used: string[] = [];
    out.push(`${object}=$.obj1(${given[0]})`, `${objectLabel}=${given[1]}`);
    for (const member of properties) {
      if (member.type === 'RestElement') {
        this.bind(member.argument, [`$.orest(${object},${objectLabel},[${used.join()}])`, LAST], out, assign);
        continue;
      }
      const [key, keyLabel] = this.#patternKey(member.computed ? member.key : undefined, member.key, out);
      used.push(key);
      const value = this.temporary();
      const label = this.temporary();
      out.push(`${value}=$.get(${object},${objectLabel},${key},${keyLabel})`, `${label}=${LAST}`);
      this.bind(member.value, [value, label], out, assign);
    }
  }

  #patternKey(computed: Node | undefined, key: Node, out: string[]): Coded {
    if (computed === undefined) return [keyText(key), NONE];
    const [code, codeLabel] = this.expression(computed);
    const name = this.temporary();
    const label = this.temporary();
    out.push(`${name}=$.key(${code})`, `${label}=${codeLabel}`);
    return [name, label];
  }

  #bindArray({ elements }: NodeOf<'ArrayPattern'>, [value, label]: Coded, out: string[], assign: Assign): void {
    const iterator = this.temporary();
    out.push(`${iterator}=$.pit(${value},${label})`);
    for (const element of elements) {
      if (element === null) {
        out.push(`${iterator}.n()`);
        continue;
      }
      const one = this.temporary();
      const oneLabel = this.temporary();
      const isRest = element.type === 'RestElement';
      out.push(`${one}=${iterator}.${isRest ? 'r' : 'n'}()`, `${oneLabel}=${LAST}`);
      this.bind(isRest ? element.argument : element, [one, oneLabel], out, assign);
    }
    out.push(`${iterator}.c()`);
  }

  protected readonly assignVariable: Assign = (name, value, label) =>
    this.hasShadow(name) ? [`${name}=${value}`, `${shadow(name)}=${this.branched(label)}`] : [`${name}=${value}`];

  /** A declaration. Destructuring uses temporaries, and then declares the names. */
  protected declare(kind: string, pattern: Node, [value, label]: Coded): string {
    if (kind !== 'let' && kind !== 'const') throw new UnsupportedSyntax(`declaration with ${kind}`);
    if (pattern.type === 'Identifier')
      return `${kind} ${pattern.name}=${value},${shadow(pattern.name)}=${this.branched(label)};`;
    const [code, names] = this.bindToTemporaries(pattern, [value, label]);
    const declared = names.map(
      ([name, one, oneLabel]) => `${kind} ${name}=${one},${shadow(name)}=${this.branched(oneLabel)};`,
    );
    return `${code.join()};${declared.join('')}`;
  }

  /** Assigns the parts of the value to temporaries: code, and for each name those of its value and its label. */
  protected bindToTemporaries(pattern: Node, value: Coded): [code: string[], names: [string, string, string][]] {
    const out: string[] = [];
    const names: [string, string, string][] = [];
    this.bind(pattern, value, out, (name, given, givenLabel) => {
      const one = this.temporary();
      const oneLabel = this.temporary();
      names.push([name, one, oneLabel]);
      return [`${one}=${given}`, `${oneLabel}=${givenLabel}`];
    });
    return [out, names];
  }

  /** An anonymous function or class gets the name of its target. */
  protected named(node: Node, target: Node): Coded {
    return isAnonymous(node) && target.type === 'Identifier'
      ? this.expression(node, target.name)
      : this.expression(node);
  }
}
