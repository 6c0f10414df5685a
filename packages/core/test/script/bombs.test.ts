import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LONG_SOURCES, REFUSED_BOMBS } from './bombs.js';

interface Told {
  code: string;
  /** MB. */
  grown: number;
  /** Processor time of the host's thread, and of all threads, in ms. */
  busy: number;
  used: number;
  next: boolean;
  restarts: number;
}

/** Compiles in a separate process, because a bomb that is not rejected ends the process that compiles it. */
let host: ChildProcess;

beforeAll(() => {
  host = fork(new URL('./bomb-life.mjs', import.meta.url));
});

afterAll(() => {
  host.kill('SIGKILL');
});

async function compileIn(source: string): Promise<Told> {
  host.send({ source });
  const [told] = (await Promise.race([
    once(host, 'message'),
    once(host, 'exit').then(([status, signal]) => Promise.reject(new Error(`the host ended with ${status ?? signal}`))),
  ])) as [Told];
  return told;
}

/** A thread's heap may grow to its limit before a collection; native memory must be bounded. */
const MAX_GROWN_MB = 350;
/** The host only waits. */
const MAX_BUSY_MS = 1_000;

describe('a small source', () => {
  it.each(Object.entries(REFUSED_BOMBS))(
    'that would become huge is rejected in advance, and the next script is compiled: %s',
    async (_, source) => {
      const told = await compileIn(source);
      expect(['ScriptSyntaxError', 'ScriptTooLargeError']).toContain(told.code);
      expect(told).toMatchObject({ next: true, restarts: 0 });
      // A rejection before the work costs nearly nothing; the work would cost hundreds of megabytes.
      expect(told.grown).toBeLessThan(80);
      expect(told.busy).toBeLessThan(MAX_BUSY_MS);
    },
  );

  it.each(Object.entries(LONG_SOURCES))('is compiled in time proportional to its length: %s', async (_, source) => {
    const quarter = await compileIn(source.slice(0, source.length / 4).replace(/\n[^\n]*$/, ''));
    const whole = await compileIn(source);
    expect(whole).toMatchObject({ code: 'compiled', next: true, restarts: 0 });
    expect(whole.grown).toBeLessThan(MAX_GROWN_MB);
    // The text is four times as long: quadratic work would take sixteen times as long. The rest is a margin for a busy
    // machine.
    expect(whole.used).toBeLessThan(12 * Math.max(quarter.used, 50));
  });
});

describe('ordinary enums and namespaces', () => {
  it.each([
    ['flags', `enum Flag {${times((i) => `F${i} = 1 << ${i},`)} All = ${times((i) => `F${i} |`)} 0 } return Flag.All`],
    ['texts', `enum Name {${times((i) => `N${i} = 'name-${i}',`)}} return Name.N1`],
    [
      'texts made of texts',
      "enum Path { Root = '/api', Users = `${Root}/users`, User = Users + '/one' } return Path.User",
    ],
    ['a namespace', `namespace Tables {${times((i) => `export const t${i} = ${i};\n`)}} return Tables.t1`],
  ])('are compiled: %s', async (_, source) => {
    expect(await compileIn(source)).toMatchObject({ code: 'compiled' });
  });
});

function times(write: (index: number) => string): string {
  return Array.from({ length: 30 }, (_, index) => write(index)).join('\n');
}
