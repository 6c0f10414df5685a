import { expect, it } from 'vitest';
import { compareSurface } from './surface.js';

it('x', async () => {
  console.log(JSON.stringify(await compareSurface(), null, 1));
});
