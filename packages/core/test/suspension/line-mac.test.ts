import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { LineMac } from '#core/run/durability/line-mac.js';

describe('the MAC of a line', () => {
  it('is HMAC-SHA-256 of its UTF-8 bytes, whatever was authenticated before', () => {
    const key = Buffer.from('0123456789abcdef0123456789abcdef');
    const line = new LineMac(key);
    const lengths = [0, 1, 63, 64, 65, 5_461, 5_462, 16_384, 100_000, 3];
    for (const text of lengths.flatMap((length) => ['a', 'é', '漢', '😀'].map((letter) => letter.repeat(length))))
      expect(line.mac(text), `${text.length}`).toBe(createHmac('sha256', key).update(text).digest('base64url'));
  });
});
