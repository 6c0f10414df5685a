import { defineTool } from '@toolscript/core';
import fastCheck from 'fast-check';
import { scriptNames } from '#mcp/tools/script-names.js';
import { describe, expect, it } from 'vitest';

const name = fastCheck.oneof(
  fastCheck.string({ unit: 'binary', maxLength: 80 }),
  fastCheck.stringMatching(/^[a-z._ -]{1,5}$/u),
  fastCheck.constantFrom(
    'get-user',
    'get_user',
    'get.user',
    'get user',
    '__proto__',
    'then',
    'constructor',
    '9a',
    '_9a',
  ),
);

/** In the form of a script: core's own rule. */
function written(part: string): string {
  const identifier = part.replaceAll(/[^\w$]/gu, '_');
  return /^\d/u.test(identifier) ? `_${identifier}` : identifier;
}

describe('the names of a server’s tools', () => {
  it('are names of tools, and no two are written alike, whatever they were', () => {
    fastCheck.assert(
      fastCheck.property(fastCheck.uniqueArray(name, { maxLength: 12 }), (names) => {
        const made = scriptNames(names);
        expect(made.size).toBe(names.length);
        expect(new Set([...made.values()].map(written)).size).toBe(names.length);
        for (const part of made.values())
          defineTool({ name: `mcp.server.${part}`, description: '', execute: () => 1 }, { namespace: 'mcp' });
      }),
    );
  });

  it('do not depend on the order of the list', () => {
    fastCheck.assert(
      fastCheck.property(fastCheck.uniqueArray(name, { maxLength: 8 }), (names) => {
        expect(scriptNames(names)).toEqual(scriptNames(names.toReversed()));
      }),
    );
  });

  it('are the server’s own where they can be', () => {
    const own = ['list_issues', 'get-user', '$x', 'A1'];
    expect([...scriptNames(own)]).toEqual(own.toSorted().map((each) => [each, each]));
  });

  it('an identifier keeps its name beside one that is written like it', () => {
    const made = scriptNames(['get-user', 'get_user', 'get.user']);
    expect(made.get('get_user')).toBe('get_user');
    expect(made.get('get-user')).toMatch(/^get-user_[0-9a-f]{6}$/u);
    expect(made.get('get.user')).toMatch(/^get_user_[0-9a-f]{6}$/u);
  });

  it('a name that is made like the one of another tool takes nothing from it', () => {
    const first = scriptNames(['a.b', 'a b']).get('a.b')!;
    const made = scriptNames(['a.b', 'a b', first]);
    expect(made.get(first)).toBe(first);
    expect(new Set(made.values()).size).toBe(3);
  });
});
