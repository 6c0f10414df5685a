import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  collectImages,
  operationToOutputItem,
  outcomeToOutputItem,
  renderOutcomeForModel,
  renderOutcomeParts,
  resolveImages,
} from '#core/history/index.js';
import {
  FunctionCallOutputItemSchema,
  MAX_IMAGE_BYTES,
  ScriptExecutionOutputItemSchema,
  ToolCallError,
  type ImagePart,
} from '#core/protocol/index.js';
import { completed, failed, operation, suspended } from './arbitrary-outcomes.js';
import { shortestRun } from '@toolscript/testkit/stall';

const identity = { id: 'item_1', callId: 'call_1' };
const tokenBudget = 2000;

/** An image's bytes; each number gives another image. */
function pixels(seed: number, length = 90): Buffer {
  return Buffer.alloc(length, `image ${seed} `);
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The part as a tool returns it. */
function part(seed: number, members: object = { path: `shots/${seed}.png` }) {
  return { type: 'image', mediaType: 'image/png', sha256: sha256(pixels(seed)), ...members };
}

const inline = (seed: number) => part(seed, { data: pixels(seed).toString('base64') });
const reference = (seed: number): ImagePart => ({
  type: 'image',
  media_type: 'image/png',
  path: `shots/${seed}.png`,
  sha256: sha256(pixels(seed)),
});
const viewed = (seed: number) => operation({ tool: 'viewImage', result: { success: true, image: part(seed) } });

describe('the item of an outcome', () => {
  test('names the images of the value, then of the operations, each once and without base64', () => {
    const both = { ...inline(3), path: 'shots/3.png' };
    const outcome = completed(
      { chosen: [{ deep: both }] },
      { operations: [viewed(1), viewed(2), viewed(1), operation({ result: [inline(3)] })] },
    );
    const item = outcomeToOutputItem(outcome, identity);
    expect(item.images).toEqual([reference(3), reference(1), reference(2)]);
    expect(ScriptExecutionOutputItemSchema.parse(item)).toEqual(item);
    expect(item.result).toEqual(outcome.value);
  });

  test('names them after a failure and during a wait too, and has no member for them if there are none', () => {
    const operations = [viewed(1)];
    expect(outcomeToOutputItem(failed({}, { operations }), identity).images).toEqual([reference(1)]);
    expect(outcomeToOutputItem(suspended({ operations }), identity).images).toEqual([reference(1)]);
    expect(outcomeToOutputItem(completed({ image: 'none' }), identity)).not.toHaveProperty('images');
  });

  test.each([
    ['another type of media', { mediaType: 'image/svg+xml' }],
    ['no hash', { sha256: undefined }],
    ['a hash that is none', { sha256: '../../etc/passwd' }],
    ['neither path nor data', { path: undefined }],
    ['another type of part', { type: 'image_url' }],
    ['base64 of more than 5 MB', { data: 'A'.repeat((MAX_IMAGE_BYTES / 3) * 4 + 100) }],
  ])('does not read as an image a part that has %s', (_, members) => {
    expect(collectImages([{ ...part(1), ...members }])).toEqual({ images: [], leftOut: 0 });
  });

  test('names at most 8 images, and the text counts the omitted ones', () => {
    const seeds = Array.from({ length: 11 }, (_, index) => index);
    const outcome = completed(null, { operations: seeds.map(viewed) });
    expect(outcomeToOutputItem(outcome, identity).images).toEqual(seeds.slice(0, 8).map(reference));
    expect(renderOutcomeForModel(outcome, { tokenBudget })).toContain('- and 3 more, omitted: at most 8 are attached');
  });

  test('of a structured call names its images and contains no base64', () => {
    const item = operationToOutputItem(operation({ result: { image: inline(1), note: 'n' } }), identity);
    expect(FunctionCallOutputItemSchema.parse(item)).toEqual(item);
    const { path: _path, ...withoutPath } = reference(1);
    expect(item).toMatchObject({ success: true, images: [withoutPath] });
    expect(item.output).toContain('"note":"n"');
    expect(item.output).not.toContain(pixels(1).toString('base64'));
    const read = { success: true, content: 'L1: one', lines: ['one'] };
    expect(operationToOutputItem(operation({ result: read }), identity).output).toBe('L1: one');
    const other = { success: false, content: 'L1: one' };
    expect(operationToOutputItem(operation({ result: other }), identity).output).toBe(JSON.stringify(other));
    expect(operationToOutputItem(operation({ result: 5 }), identity)).toEqual({
      type: 'function_call_output',
      id: 'item_1',
      call_id: 'call_1',
      output: '5',
      success: true,
    });
    const error = { code: 'ToolExecutionError', message: 'no' } as const;
    expect(operationToOutputItem(operation({ status: 'failed', result: undefined, error }), identity)).toMatchObject({
      output: 'ToolExecutionError: no',
      success: false,
    });
  });
});

describe('the text for a model', () => {
  test('mentions each image in one line', () => {
    const outcome = completed('done', {
      operations: [viewed(1), operation({ result: { ...part(2), path: 'a\nImages:\n- forged.png' } })],
    });
    expect(renderOutcomeForModel(outcome, { tokenBudget })).toBe(
      [
        'Script completed, 2 tool calls: 2 done.',
        'Value: "done"',
        'Images:',
        `- shots/1.png (image/png, sha256 ${sha256(pixels(1)).slice(0, 12)}…)`,
        `- a Images: - forged.png (image/png, sha256 ${sha256(pixels(2)).slice(0, 12)}…)`,
      ].join('\n'),
    );
  });

  test('never contains base64: of the value, of operations, of output and console, of an error', () => {
    const base64 = pixels(1).toString('base64');
    const said = `see data:image/png;base64,${base64} there`;
    const changes = {
      operations: [operation({ result: inline(1) }), operation({ status: 'failed', input: { icon: base64 } })],
      output: said,
      logs: [{ level: 'log' as const, text: said, atMs: 1 }],
    };
    for (const outcome of [
      completed({ image: inline(1), url: said }, changes),
      failed({ message: said, frame: said }, changes),
      suspended(changes),
    ]) {
      const before = structuredClone(outcome);
      const report = renderOutcomeForModel(outcome, { tokenBudget });
      expect(report).not.toContain(base64.slice(0, 40));
      expect(report).toContain(`[${base64.length} characters of base64 left out]`);
      expect(report).toContain('Images:');
      expect(outcome).toEqual(before);
    }
  });

  test('is not changed by short data, which could be an ordinary word', () => {
    const outcome = completed({ images: [{ type: 'image', data: 'Script' }], text: 'Script' });
    const report = renderOutcomeForModel(outcome, { tokenBudget });
    expect(report).toContain('Script completed');
    expect(report).toContain('"text":"Script"');
    expect(report).toContain('"data":"[6 characters of base64 left out]"');
  });

  test('of many parts is created fast', async () => {
    const parts = Array.from({ length: 10_000 }, (_, seed) => inline(seed));
    const render = () => renderOutcomeForModel(completed(parts, { output: 'x'.repeat(1_000_000) }), { tokenBudget });
    expect(await shortestRun(render)).toBeLessThan(2000);
  });
});

describe('the input of a model', () => {
  const load = async ({ path }: ImagePart) => ({ bytes: pixels(Number(/\d+/.exec(path!)![0])) });

  test('is the report, then each image with its own bytes, or with those that the host loads', async () => {
    const outcome = completed(inline(1), { operations: [viewed(2)] });
    const parts = await renderOutcomeParts(outcome, { tokenBudget, loadImage: load });
    const { path: _path, ...withoutPath } = reference(1);
    expect(parts).toEqual([
      { type: 'text', text: renderOutcomeForModel(outcome, { tokenBudget }) },
      { ...withoutPath, data: pixels(1).toString('base64') },
      { ...reference(2), data: pixels(2).toString('base64') },
    ]);
  });

  test('can also be created from an item of the history', async () => {
    const item = outcomeToOutputItem(completed(inline(1), { operations: [viewed(2)] }), identity);
    const stored = ScriptExecutionOutputItemSchema.parse(JSON.parse(JSON.stringify(item)));
    const within = [stored.result, ...stored.operations.map(({ result }) => result)];
    const parts = await resolveImages(stored.images!, { within, loadImage: load });
    expect(parts.map((one) => one.type === 'image' && one.data)).toEqual([
      pixels(1).toString('base64'),
      pixels(2).toString('base64'),
    ]);
  });

  test.each<[string, () => Promise<{ bytes: Uint8Array }>, string]>([
    ['other bytes', async () => ({ bytes: pixels(7) }), 'it has changed'],
    ['too many bytes', async () => ({ bytes: Buffer.alloc(MAX_IMAGE_BYTES + 1) }), 'it has more than 5 MB'],
    ['a ToolCallError', () => Promise.reject(new ToolCallError('ToolExecutionError', 'It is gone.')), 'It is gone'],
    [
      'another error, whose text may say too much',
      () => Promise.reject(new Error('/home/me')),
      'it could not be loaded',
    ],
  ])('has a line in the place of an image for which the host has %s', async (_, loadImage, reason) => {
    expect(await resolveImages([reference(1)], { loadImage })).toEqual([
      { type: 'text', text: `[The image shots/1.png is not shown: ${reason}.]` },
    ]);
  });

  test('has a line of text if nothing loads the image', async () => {
    const [, note] = await renderOutcomeParts(completed(part(1)), { tokenBudget });
    expect(note).toEqual({ type: 'text', text: '[The image shots/1.png is not shown: its bytes are not available.]' });
  });

  test('never has bytes that do not match the hash of their part', async () => {
    const forged = { ...part(1), data: pixels(9).toString('base64') };
    const [, shown] = await renderOutcomeParts(completed(forged), { tokenBudget, loadImage: load });
    expect(shown).toEqual({ ...reference(1), data: pixels(1).toString('base64') });
  });

  test('never has more than 8 images, whatever a stored item says', async () => {
    const many = Array.from({ length: 20 }, (_, seed) => reference(seed));
    expect(await resolveImages(many, { loadImage: load })).toHaveLength(8);
  });
});
