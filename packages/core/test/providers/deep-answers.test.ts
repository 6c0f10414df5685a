import type { ProviderApi } from '#core/providers/index.js';
import { objectJson } from '#core/providers/wire-values.js';
import { expect, test } from 'vitest';
import { brokenLaws, eventsOf } from './decoded.js';
import { OWN_STREAMS } from './own-streams.js';

const LEVELS = 20_000;
const DEEP = '['.repeat(LEVELS) + ']'.repeat(LEVELS);
const APIS = Object.keys(OWN_STREAMS) as ProviderApi[];

test.each(
  APIS.flatMap((api) => [`data: {"type":"x","deep":${DEEP}}\n\n`, `{"deep":${DEEP}}`].map((body) => [api, body])),
)('%s: an answer of 20 000 levels ends with an error', async (api, body) => {
  const events = await eventsOf(api as ProviderApi, body!);
  expect(brokenLaws(events)).toEqual([]);
  const message: unknown = expect.stringContaining('nested more than 1000 levels deep');
  const failure: unknown = expect.objectContaining({ type: 'response_error', code: 'AnswerTooLarge', message });
  expect(events.map(({ payload }) => payload)).toContainEqual(failure);
});

test('arguments of 20 000 levels are text in the next request, which can be written', () => {
  const text = `{"deep":${DEEP}}`;
  const read: unknown = JSON.parse(objectJson(text));
  expect(JSON.parse(JSON.stringify(read))).toEqual({ invalid_arguments: text });
});
