import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { limitedSignal } from '#core/protocol/index.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('a signal with a time limit', () => {
  it.each([['alone', undefined] as const, ['with another signal', new AbortController().signal] as const])(
    'aborts after its time, %s, although garbage was collected',
    async (_name, other) => {
      const aborted = new Promise<unknown>((resolve) => {
        const signal = limitedSignal(100, other);
        signal.addEventListener('abort', () => resolve(signal.reason));
      });
      await delay(10);
      collectGarbage();
      expect(await Promise.race([aborted, delay(30_000, 'never')])).toMatchObject({ name: 'TimeoutError' });
    },
  );

  it('aborts with the other signal and its reason, and keeps no listener there', async () => {
    const other = new AbortController();
    const [signal, expired] = [limitedSignal(60_000, other.signal), limitedSignal(1, other.signal)];
    await new Promise((resolve) => expired.addEventListener('abort', resolve));
    other.abort('enough');
    expect(signal.reason).toBe('enough');
    expect(expired.reason).toMatchObject({ name: 'TimeoutError' });
    expect(limitedSignal(60_000, other.signal).reason).toBe('enough');
  });
});
