import { execFileSync } from 'node:child_process';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { quoteCommand } from '#tools/exec/command-line.js';
import { fitJson, HeadAndTail } from '#tools/exec/output.js';
import { tries } from '@toolscript/testkit/some-cases';

it('a quoted command is one line that a shell splits into the same arguments', () => {
  const argument = fc.oneof(
    fc.string(),
    fc.constantFrom('', ' ', "'", '"', '$x', '`id`', '\\', '*', '#', '~', '!', 'a b', 'é'),
  );
  fc.assert(
    fc.property(fc.array(argument, { minLength: 1, maxLength: 5 }), (args) => {
      const line = quoteCommand(args);
      expect(line).not.toContain('\n');
      const output = execFileSync('sh', ['-c', `printf '%s\\0' ${line}`], { encoding: 'utf8' });
      expect(output).toBe(args.map((text) => `${text}\0`).join(''));
    }),
    { numRuns: tries(100) },
  );
});

it('invisible characters are shown, and cannot imitate another argument', () => {
  expect(quoteCommand(['rm', '-rf', 'a\u202Eb', 'x\ny'])).toBe("rm -rf $'a\\u202eb' $'x\\u000ay'");
  expect(quoteCommand(['npm', 'test; rm -rf /'])).toBe("npm 'test; rm -rf /'");
});

it('head and tail together never exceed the limit, and output within it is complete', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }), { maxLength: 30 }),
      fc.nat(200),
      fc.nat(7),
      (texts, limit, cut) => {
        const bytes = Buffer.from(texts.join(''));
        const kept = new HeadAndTail(limit);
        for (let at = 0; at < bytes.length; at += cut + 1) kept.push(bytes.subarray(at, at + cut + 1));
        const { text, truncated } = kept.finish();
        expect(truncated).toBe(bytes.length > limit);
        if (!truncated) expect(text).toBe(bytes.toString('utf8'));
        else {
          const [head, tail] = text.split(/\n… \d+ bytes omitted …\n/) as [string, string];
          expect(bytes.toString('utf8').startsWith(head)).toBe(true);
          expect(bytes.toString('utf8').endsWith(tail)).toBe(true);
          expect(Buffer.byteLength(head) + Buffer.byteLength(tail)).toBeLessThanOrEqual(limit);
        }
      },
    ),
    { numRuns: tries(500) },
  );
});

it('a text is shortened until its JSON fits', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.integer({ min: 50, max: 400 }), (text, limit) => {
      const long = text.repeat(5);
      const fitted = fitJson(long, limit);
      expect(Buffer.byteLength(JSON.stringify(fitted.text))).toBeLessThanOrEqual(limit);
      expect(fitted.truncated).toBe(fitted.text !== long);
    }),
  );
});
