import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const life = fileURLToPath(new URL('./no-descriptors.mjs', import.meta.url));

describe('a host without free descriptors', () => {
  it.skipIf(process.platform === 'win32')(
    'survives if its type checker cannot start, and checks scripts again when it can',
    async () => {
      const { stdout } = await promisify(execFile)('/bin/sh', [
        '-c',
        'ulimit -n 80; exec "$0" "$1"',
        process.execPath,
        life,
      ]);
      const answers = JSON.parse(stdout) as string[];
      expect(answers[0]).toBe('unavailable');
      expect(answers.at(-1)).toBe('checked');
    },
  );
});
