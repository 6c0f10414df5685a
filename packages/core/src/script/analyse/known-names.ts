import { identifierName } from '../../text/identifier-name.js';
import { missingNameAdvice } from '../../text/missing-names.js';
import { nearestNames } from '../../text/nearest-names.js';
import type { Finding } from './findings.js';
import type { SyntaxIndex } from '../syntax/syntax-index.js';
import type { ToolCall } from '../syntax/tool-calls.js';

/** Namespaces that the harness itself defines or leaves undefined. Calls to them are not reported. */
const RESERVED = new Set(['mcp', 'spawn', 'http', 'then']);
const FUNCTION_MEMBERS = new Set(['call', 'apply', 'bind']);

/**
 * Reports a warning for each call to a tool that is not in `toolNames`, except `tools.x?.()`, which handles a missing x
 * itself.
 */
export function findUnknownTools(calls: readonly ToolCall[], toolNames: readonly string[]): Finding[] {
  const names = new Set(toolNames.flatMap((name) => [name, identifierName(name)]));
  return calls
    .filter((call) => !call.optional && !isKnown(call.tool, names))
    .map((call) => unknownTool(call, toolNames));
}

function isKnown(tool: string, names: ReadonlySet<string>): boolean {
  const parts = tool.split('.');
  if (RESERVED.has(parts[0] ?? '') || names.has(tool)) return true;
  return FUNCTION_MEMBERS.has(parts.at(-1) ?? '') && names.has(parts.slice(0, -1).join('.'));
}

function unknownTool({ tool, nameOffset }: ToolCall, toolNames: readonly string[]): Finding {
  const nearest = nearestNames(tool, toolNames);
  const advice =
    nearest.length === 0 ? '' : ` Did you mean ${nearest.map((name) => `tools.${identifierName(name)}`).join(', ')}?`;
  return {
    severity: 'warning',
    code: 'unknown-tool',
    message: `There is no tool named ${JSON.stringify(tool)}.${advice}`,
    offset: nameOffset,
  };
}

/**
 * Reports functions and values that are only declared (`declare function save(…): void`) and used nevertheless.
 * TypeScript accepts such a declaration. Overloads of a function with a body are not reported.
 */
export function findMissingImplementations({ ambient, declared, references }: SyntaxIndex): Finding[] {
  return [...ambient.keys()].flatMap((name) => {
    const isThere =
      declared.has(name) ||
      GIVEN.has(name) ||
      (Object.hasOwn(globalThis, name) && missingNameAdvice(name) === undefined);
    const use = isThere ? undefined : references.get(name)?.find(({ parent }) => !asks(parent?.node));
    if (use === undefined) return [];
    const message = `\`${name}\` is declared without an implementation. ${missingNameAdvice(name) ?? 'Write the function, or call a tool.'}`;
    return [{ severity: 'error' as const, code: 'missing-implementation', message, offset: use.node.start }];
  });
}

function asks(holder: { type: string; operator?: string | undefined } | undefined): boolean {
  return holder?.type === 'UnaryExpression' && holder.operator === 'typeof';
}

/** Names that a script has without declaring them, in addition to the language's own globals. */
export const GIVEN: ReadonlySet<string> = new Set(['catalog', 'console', 'context', 'emit', 'sleep', 'text', 'tools']);
