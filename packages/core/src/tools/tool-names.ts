import { ToolscriptUsageError } from '../protocol/errors.js';

/** Namespaces that belong to Toolscript. `http` alone is a tool's name; `http.x` is not. */
const RESERVED_NAMESPACES: readonly string[] = ['mcp', 'spawn', 'http'];
const FORBIDDEN_SEGMENTS: readonly string[] = ['then', '__proto__', 'constructor', 'prototype'];
const SEGMENT = /^[A-Za-z0-9_$-]+$/;
const MAX_SEGMENT_LENGTH = 64;
const MAX_SEGMENTS = 8;

/** Throws a `ToolscriptUsageError` for an invalid tool name. `namespace` opens one reserved namespace. */
export function assertToolName(name: unknown, namespace?: 'mcp'): asserts name is string {
  if (typeof name !== 'string' || name === '') {
    throw new ToolscriptUsageError('A tool needs a name: a non-empty string.');
  }
  const shown = JSON.stringify(name.slice(0, 100));
  const segments = name.split('.');
  if (segments.length > MAX_SEGMENTS) {
    throw new ToolscriptUsageError(`The tool name ${shown} has more than ${MAX_SEGMENTS} parts. Use fewer.`);
  }
  for (const segment of segments) assertSegment(segment, shown);
  const first = segments[0] as string;
  const reserved = RESERVED_NAMESPACES.includes(first) && first !== namespace && name !== 'http';
  if (reserved) {
    throw new ToolscriptUsageError(
      `The tool name ${shown} starts with "${first}", which is reserved; choose another name.`,
    );
  }
  if (namespace !== undefined && (first !== namespace || segments.length < 3)) {
    throw new ToolscriptUsageError(`The tool name ${shown} must have the form ${namespace}.SERVER.TOOL.`);
  }
}

function assertSegment(segment: string, shown: string): void {
  if (segment === '') {
    throw new ToolscriptUsageError(
      `The tool name ${shown} has an empty part; write names like "readFile" or "prompts.save".`,
    );
  }
  if (segment.length > MAX_SEGMENT_LENGTH) {
    throw new ToolscriptUsageError(
      `A part of the tool name ${shown} is longer than ${MAX_SEGMENT_LENGTH} characters. Use a shorter name.`,
    );
  }
  if (!SEGMENT.test(segment)) {
    throw new ToolscriptUsageError(
      `The tool name ${shown} has characters other than letters, digits, "_", "$" and "-". Rename the tool.`,
    );
  }
  if (FORBIDDEN_SEGMENTS.includes(segment)) {
    throw new ToolscriptUsageError(`The tool name ${shown} uses "${segment}", which is reserved; choose another name.`);
  }
}
