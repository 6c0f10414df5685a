import { describe, expect, it } from 'vitest';

const MODULE = new URL('../../dist/text/crypto.js', import.meta.url).href;

describe('an id', () => {
  it('is one word of letters, digits and "_", in whichever process it is made', async () => {
    for (let process = 0; process < 50; process++) {
      // A module under another URL is loaded again, as another process would load it.
      const { newId } = (await import(
        /* @vite-ignore */ `${MODULE}?process=${process}`
      )) as typeof import('#core/text/crypto.js');
      expect(newId('scr')).toMatch(/^scr_[0-9a-z]{10,}_0$/u);
      expect(newId('scr')).toMatch(/^scr_[0-9a-z]{10,}_1$/u);
    }
  });
});
