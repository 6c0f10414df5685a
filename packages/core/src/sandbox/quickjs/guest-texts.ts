/**
 * The texts of a script that its guest requests when it first needs them. Most scripts need none of them, and call only
 * a few of many tools, so nothing that grows with the tools is sent to a guest at its start.
 *
 * Questions of the guest: `tools.PATH` for one member of the tools object, `tools`, `context` and `positions`.
 */
export interface GuestTexts {
  readonly tools: ToolNames;
  /** See `SandboxJob`. */
  readonly contextJson: string;
  readonly positions: string;
}

/** The answer for a member that is a namespace. No tool has this name. */
const NAMESPACE = '.';

interface Branch {
  [name: string]: string | Branch;
}

/** The names of the tools that a script may call. One object serves all scripts with the same tools. */
export class ToolNames {
  readonly #names: readonly string[];
  /** Full names of tools, and `NAMESPACE`, by path. */
  #members: Map<string, string> | undefined;
  #tree: string | undefined;

  constructor(names: readonly string[]) {
    this.#names = names;
  }

  /** The full name of the tool at a path, `NAMESPACE`, or an empty text. */
  member(path: string): string {
    this.#members ??= membersByPath(this.#names);
    return this.#members.get(path) ?? '';
  }

  /** JSON text of namespaces and full names. */
  tree(): string {
    this.#tree ??= JSON.stringify(grow(this.#names));
    return this.#tree;
  }

  /** Adds the facts about the tools to a script's context. The last member counts, so the host cannot override them. */
  context(contextJson: string): string {
    const others = contextJson.length > 2 ? `${contextJson.slice(0, -1)},` : '{';
    return `${others}"capabilities":${JSON.stringify({ tools: this.#names })}}`;
  }
}

const MEMBER = 'tools.';

export function answerGuest(question: string, { tools, contextJson, positions }: GuestTexts): string {
  if (question.startsWith(MEMBER)) return tools.member(question.slice(MEMBER.length));
  if (question === 'tools') return tools.tree();
  if (question === 'context') return tools.context(contextJson);
  return question === 'positions' ? positions : '';
}

function membersByPath(names: readonly string[]): Map<string, string> {
  const members = new Map<string, string>();
  for (const name of names) {
    for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1))
      members.set(name.slice(0, dot), NAMESPACE);
    members.set(name, name);
  }
  return members;
}

function grow(names: readonly string[]): Branch {
  const root = Object.create(null) as Branch;
  for (const name of names) {
    const parts = name.split('.');
    const last = parts.pop()!;
    let at = root;
    for (const part of parts) {
      const next = at[part];
      at = typeof next === 'object' ? next : (at[part] = Object.create(null) as Branch);
    }
    at[last] = name;
  }
  return root;
}
