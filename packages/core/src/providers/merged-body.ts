import { isMembers, type Members } from './wire-values.js';

/**
 * The body with the members of `extra`: objects are merged, lists appended, and any other value of `extra` replaces the
 * body's.
 */
export function mergedBody(body: object, extra: Members = {}): Members {
  const merged: Record<string, unknown> = { ...body };
  for (const [name, value] of Object.entries(extra)) {
    const own = Object.hasOwn(merged, name) ? merged[name] : undefined;
    Object.defineProperty(merged, name, {
      value: joinValues(own, value),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return merged;
}

function joinValues(own: unknown, value: unknown): unknown {
  if (Array.isArray(own) && Array.isArray(value)) return [...(own as unknown[]), ...(value as unknown[])];
  return isMembers(own) && isMembers(value) ? mergedBody(own, value) : value;
}
