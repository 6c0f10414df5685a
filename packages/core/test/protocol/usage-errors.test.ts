import { describe, expect, it } from 'vitest';
import { ToolscriptUsageError } from '@toolscript/core';
import { USAGE_ERRORS } from '@toolscript/core/protocol';

describe('a mistake of the host', () => {
  it('has a code, and the message of the code with its values', () => {
    const error = new ToolscriptUsageError('TOOL_NAME_TAKEN', { name: 'readFile' });
    expect(error).toMatchObject({ name: 'ToolscriptUsageError', code: 'TOOL_NAME_TAKEN' });
    expect(error.message).toBe('Two tools have the name "readFile"; rename one of them.');
  });

  it('inserts each value once, as it is', () => {
    const values = { where: '<problem> $& <where>', problem: 'no' };
    expect(new ToolscriptUsageError('OPTIONS_INVALID', values).message).toBe('<problem> $& <where>: no');
  });

  it('does not compile with an unknown code, without its values, or with another name', () => {
    // @ts-expect-error an unknown code
    void (() => new ToolscriptUsageError('TOOL_NAME_TAKN', { name: 'readFile' }));
    // @ts-expect-error a value is missing
    void (() => new ToolscriptUsageError('TOOL_NAMES_COLLIDE', { name: 'readFile' }));
    // @ts-expect-error a name that the message does not have
    void (() => new ToolscriptUsageError('TOOL_NAME_TAKEN', { tool: 'readFile' }));
    const code = new ToolscriptUsageError('HARNESS_CLOSED').code;
    // @ts-expect-error a code that no error has
    expect(code === 'HARNESS_CLOSD').toBe(false);
  });

  it('has a code of two or more upper-case words', () => {
    const codes = Object.keys(USAGE_ERRORS);
    expect(codes.length).toBeGreaterThan(100);
    expect(codes.filter((code) => !/^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/u.test(code))).toEqual([]);
  });
});
