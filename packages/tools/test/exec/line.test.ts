import { expect, it } from 'vitest';
import { optionBytes, withMoreOptions } from '#tools/exec/sandbox/line.js';

it('options for bubblewrap come after those of the package and before the command', () => {
  const line = `bwrap --bind '/a -- b' "/c" --proc /proc -- /bin/sh -c 'echo -- x'`;
  expect(withMoreOptions(line)).toBe(`bwrap --bind '/a -- b' "/c" --proc /proc --args 4 -- /bin/sh -c 'echo -- x'`);
  expect(optionBytes(['--bind', '/a b'])).toEqual(Buffer.from('--bind\0/a b\0'));
});

it.each(['bwrap -- /bin/sh', 'bwrap --proc /proc', "sh -c 'bwrap --proc /proc -- x'", 'bwrap --proc /other -- sh', ''])(
  'a line of another form is rejected: %s',
  (line) => {
    expect(() => withMoreOptions(line)).toThrow('unknown command for bubblewrap');
  },
);
