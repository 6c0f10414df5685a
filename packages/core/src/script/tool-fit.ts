import { identifierForm } from './tool-names.js';

/** What models put before a tool's name where they do not write `tools`. */
const RECEIVERS = new Set(['api', 'client', 'codemode', 'default_api', 'external', 'functions', 'mcp', 'mux', 'tool']);
const PREFIX = /^external_/u;

/**
 * The one tool that a path without `tools` can mean, as scripts write it: `github.list` is `github.list`,
 * `codemode.add` is `add`, `list` is `github.list` where no other tool is called that. Undefined where none
 * fits, and where several do.
 */
export function fittingTool(path: readonly string[], toolNames: readonly string[]): string | undefined {
  const [first = '', ...rest] = path;
  const names = new Set(toolNames.map(identifierForm));
  const full = path.join('.');
  if (names.has(full)) return full;
  if (rest.length > 0) return RECEIVERS.has(first) && names.has(rest.join('.')) ? rest.join('.') : undefined;
  const bare = first.replace(PREFIX, '');
  if (names.has(bare)) return bare;
  const [only, ...others] = [...names].filter((name) => name.endsWith(`.${bare}`));
  return others.length === 0 ? only : undefined;
}

/** Whether tools stand under that name: `github` where there is `github.list`. */
export function isToolNamespace(name: string, toolNames: readonly string[]): boolean {
  return toolNames.some((tool) => identifierForm(tool).startsWith(`${name}.`));
}
