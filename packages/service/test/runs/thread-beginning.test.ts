import { describe, expect, test } from 'vitest';
import { APIS, calls, change, Place, runs, said, someTool, WAYS, type Turn } from './beginning-place.js';

describe.each(APIS)('%s', (api) => {
  test('another model gets the same beginning', async () => {
    const place = await Place.open(api, { functions: 'all' }, [said('One.'), said('Two.')]);
    await place.say('One');
    place.installation.model = 'model-2';
    place.installation.harness.tools.add([someTool('late')]);
    await place.say('Two');
    place.expectOneBeginning();
  });

  test('a script calls a tool that was added, after an announcement of this tool alone', async () => {
    const place = await Place.open(api, WAYS.tool!, [
      said('One.'),
      runs('return await tools.late({});'),
      said('Two.'),
      said('Three.'),
    ]);
    await place.say('One');
    place.installation.harness.tools.add([someTool('late')]);
    const { announced } = await place.say('Two');
    expect(announced).toContain('late(args');
    expect(announced).not.toContain('second');
    expect(JSON.stringify(place.requests.at(-1))).toContain('from late');
    expect((await place.say('Three')).announced).toBe('');
    place.expectOneBeginning();
  });

  test('a call of a tool that is gone gets one sentence', async () => {
    const place = await Place.open(api, WAYS.disabled!, [said('One.'), calls('first'), said('Two.')]);
    await place.say('One');
    place.installation.harness.tools.remove(['first']);
    const { announced } = await place.say('Two');
    expect(announced).toContain('Gone');
    expect(announced).toContain('first');
    expect(JSON.stringify(place.requests.at(-1))).toMatch(/There is no tool \\+"first\\+"\./u);
    place.expectOneBeginning();
  });

  test('without scripts, the model reads that a tool which was added needs a new conversation', async () => {
    const place = await Place.open(api, WAYS.disabled!, [said('One.'), said('Two.'), calls('first'), said('Three.')]);
    await place.say('One');
    place.installation.harness.tools.replace(['first'], [someTool('late')]);
    const { announced } = await place.say('Two');
    expect(announced).toMatch(/new conversation: late\./u);
    place.installation.harness.tools.add([someTool('first', 2)]);
    const again = await place.say('Three');
    expect(again.announced).toContain('m1?: string');
    expect(again.announced).not.toContain('new conversation');
    expect(JSON.stringify(place.requests.at(-1))).toContain('from first');
    place.expectOneBeginning();
  });
});

test('after many announcements of changes, one replaces them all', async () => {
  const place = await Place.open(
    'openai-chat',
    WAYS.tool!,
    Array.from({ length: 19 }, () => said('Yes.')),
  );
  const announced: string[] = [];
  for (let at = 0; at < 19; at += 1) {
    if (at > 0) place.installation.harness.tools.add([someTool(`late${at}`)]);
    announced.push((await place.say('Go')).announced);
  }
  expect(announced.flatMap((text, at) => (text.includes('first(args') ? [at] : []))).toEqual([17]);
  expect(announced[18]).toContain('late18(args');
  place.expectOneBeginning();
});

test('a thread begins anew where its scripts arrive in another way', async () => {
  const place = await Place.open('anthropic-messages', WAYS.tool!, [
    said('One.'),
    { ...said('Two.'), changes_prefix: true } as Turn,
  ]);
  await place.say('One');
  change(place.installation, { mode: 'disabled' });
  expect((await place.say('Two')).announced).toBe('');
  expect(JSON.stringify(place.requests.at(-1)!.tools)).toContain('second');
});
