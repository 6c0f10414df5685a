import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, guardDestinations } from '#core/index.js';
import type { ToolFlow } from '#core/protocol.js';

const Mail = z.object({
  to: z.array(z.object({ address: z.string() })),
  cc: z.string().optional(),
  body: z.object({ text: z.string() }),
  headers: z.record(z.string(), z.string()),
});

const mail = (flow: unknown, more: object = {}) =>
  defineTool({ name: 'mail', description: 'Mails.', input: Mail, flow: flow as ToolFlow, execute: () => 1, ...more });

describe('a declaration of guarded arguments', () => {
  it.each(['to', 'to.address', 'cc', 'body.text', 'headers.x'])('accepts the path %s of the input schema', (path) => {
    expect(mail({ trusted: [path] }).flow).toEqual({ trusted: [path] });
  });

  it.each([
    [
      { trusted: ['recipient'] },
      '"flow.trusted" of the tool "mail" must be paths of its input schema, which has no "recipient".',
    ],
    [
      { trusted: ['to.name'] },
      '"flow.trusted" of the tool "mail" must be paths of its input schema, which has no "to.name".',
    ],
    [
      { readersOf: 'text', readBy: 'to' },
      '"flow.readersOf" of the tool "mail" must be paths of its input schema, which has no "text".',
    ],
    [
      { readersOf: 'body' },
      '"flow" of the tool "mail" must be an object with both readersOf and readBy, or with neither.',
    ],
    [{ trusts: ['to'] }, '"trusts"'],
    [['to'], '"flow" of the tool "mail" must be an object'],
  ])('refuses %j with one sentence', (flow, message) => {
    expect(() => mail(flow)).toThrow(message);
  });

  it('accepts every path of a schema that accepts any arguments, and follows references', () => {
    const open = defineTool({
      name: 'a',
      description: 'A.',
      inputSchema: {},
      flow: { trusted: ['x.y'] },
      execute: () => 1,
    });
    expect(open.flow?.trusted).toEqual(['x.y']);
    const inputSchema = {
      type: 'object',
      properties: { to: { $ref: '#/$defs/Person' } },
      $defs: { Person: { anyOf: [{ type: 'string' }, { type: 'object', properties: { mail: { type: 'string' } } }] } },
    };
    const make = (path: string) =>
      defineTool({ name: 'a', description: 'A.', inputSchema, flow: { trusted: [path] }, execute: () => 1 });
    expect(make('to.mail').flow?.trusted).toEqual(['to.mail']);
    expect(() => make('from')).toThrow('which has no "from"');
  });
});

describe('the trust of a tool', () => {
  it('is trusted unless it is declared', () => {
    expect(mail(undefined).trust).toBe('trusted');
    expect(mail(undefined, { trust: 'untrusted' }).trust).toBe('untrusted');
  });

  it('has no third value', () => {
    expect(() => mail(undefined, { trust: 'some' })).toThrow(
      '"trust" of the tool "mail" must be "trusted" or "untrusted"',
    );
  });
});

describe('the preset of destinations', () => {
  it('guards arguments with the names of destinations, of tools with effects', () => {
    const read = mail(undefined, { effect: 'read' });
    const own = mail({ trusted: ['cc'] });
    const [guarded, same, kept] = guardDestinations([mail(undefined), read, own]);
    expect(guarded?.flow).toEqual({ trusted: ['to', 'cc'] });
    expect(same).toBe(read);
    expect(kept).toBe(own);
  });

  it('ignores case and underscores of the names', () => {
    const tool = defineTool({
      name: 'post',
      description: 'Posts.',
      input: z.object({ webhook_url: z.string(), channelId: z.string(), file_path: z.string(), text: z.string() }),
      execute: () => 1,
    });
    expect(guardDestinations([tool])[0]?.flow).toEqual({ trusted: ['channelId', 'file_path'] });
  });
});
