import { describe, test } from 'vitest';
import { APIS, CHANGES, Place, thought, WAYS } from './beginning-place.js';

describe.each(APIS)('%s', (api) => {
  describe.each(Object.keys(WAYS))('%s', (way) => {
    test('a thread keeps its beginning, byte for byte, over 50 prompts with all changes between them', async () => {
      const names = Object.keys(CHANGES);
      const place = await Place.open(
        api,
        WAYS[way]!,
        Array.from({ length: 50 }, (_, at) => thought(`Answer ${at}.`)),
      );
      for (let at = 0; at < 50; at += 1) {
        if (at > 0) CHANGES[names[at % names.length]!]!(place.installation, at);
        await place.say(`Prompt ${at}`);
      }
      place.expectOneBeginning();
    });
  });
});
