import { ToolscriptUsageError } from '../protocol/index.js';

interface Member {
  readonly isRight: (value: unknown) => boolean;
  readonly needs: string;
  readonly isOptional?: true | undefined;
}

/** The options that are checked at the start of a run, for JavaScript hosts that the type checker does not protect. */
const MEMBERS: Readonly<Record<string, Member>> = {
  provider: {
    isRight: (value) => hasMethod(value, 'stream'),
    needs: 'a provider, as createProvider and scriptedModel return it',
  },
  harness: { isRight: (value) => hasMethod(value, 'runScript'), needs: 'a harness, as createHarness returns it' },
  history: { isRight: (value) => Array.isArray(value), needs: 'a list of items', isOptional: true },
  events: { isRight: (value) => Array.isArray(value), needs: 'the list of all stored events of the run' },
};

/** Checks options. Throws a `ToolscriptUsageError` that names the first invalid one. */
export function checkAgentOptions(options: unknown, method: string, names: readonly (keyof typeof MEMBERS)[]): void {
  if (typeof options !== 'object' || options === null)
    throw new ToolscriptUsageError('ARGUMENT_INVALID', { method, expected: 'its options as an object' });
  const members = options as Record<string, unknown>;
  for (const name of names) {
    const { isRight, needs, isOptional } = MEMBERS[name]!;
    const value = members[name];
    if (isOptional === true && value === undefined) continue;
    if (!isRight(value))
      throw new ToolscriptUsageError('OPTION_INVALID', { option: `${method}: ${name}`, expected: needs });
  }
}

function hasMethod(value: unknown, name: string): boolean {
  return typeof (value as Record<string, unknown> | null | undefined)?.[name] === 'function';
}
