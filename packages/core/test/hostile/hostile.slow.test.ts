import { describe, expect, it } from 'vitest';
import { hostileLaws } from './hostile-laws.js';
import { HOSTILE_SCRIPTS } from './hostile-scripts.js';

describe('hostile scripts', () => {
  it('the table is large and names no script twice', () => {
    expect(HOSTILE_SCRIPTS.length).toBeGreaterThanOrEqual(200);
    expect(new Set(HOSTILE_SCRIPTS.map((script) => `${script.class} ${script.name}`)).size).toBe(
      HOSTILE_SCRIPTS.length,
    );
  });

  hostileLaws(() => 'quickjs');
});
