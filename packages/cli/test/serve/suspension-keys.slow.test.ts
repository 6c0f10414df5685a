import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { suspensionKeys } from '#cli/state/persistent-state.js';
import { Place } from '../support/place.js';
import { serve, type Served } from './support/served.js';
import { newFolder } from '@toolscript/testkit/folder';

const OLD = 'the-old-secret-of-forty-characters-000001';
const NEW = 'the-new-secret-of-forty-characters-000002';

describe('the key of suspended scripts', () => {
  it('comes from TOOLSCRIPT_SUSPENSION_KEY, before that of the file, which is not created then', () => {
    const path = join(newFolder(), 'suspension.key');
    expect(suspensionKeys(path, { TOOLSCRIPT_SUSPENSION_KEY: `${NEW}, ${OLD}` })).toEqual([NEW, OLD]);
    expect(existsSync(path)).toBe(false);
    const [stored] = suspensionKeys(path, {});
    expect(stored).toHaveLength(32);
    expect(suspensionKeys(path, { TOOLSCRIPT_SUSPENSION_KEY: NEW })).toEqual([NEW, stored]);
  });

  it('has at least 32 characters', () => {
    for (const text of ['short', `${NEW},short`, `${NEW},`])
      expect(() => suspensionKeys('/nowhere', { TOOLSCRIPT_SUSPENSION_KEY: text })).toThrow(
        'Create a longer one: openssl rand -base64 32.',
      );
  });

  it('can be replaced: a script that the old key has sealed is resumed, as long as the old key is second', async () => {
    const place = new Place();
    const start = async (key: string): Promise<Served> => {
      const server = await serve([], { env: { ...place.env, TOOLSCRIPT_SUSPENSION_KEY: key } });
      onTestFinished(async () => void (await server.end()));
      return server;
    };
    const first = await start(OLD);
    const { runId } = await first.api('submit', { prompt: 'approve' });
    const pending = async (): Promise<string> => {
      for (;;) {
        const { data } = await first.api('approvals');
        if (data.length > 0) return data[0].approvalId;
        await delay(20);
      }
    };
    const approvalId = await pending();
    await first.end();
    const second = await start(`${NEW},${OLD}`);
    expect(await second.api(`approvals/${approvalId}`, 'approve')).toMatchObject({ state: 'approved' });
    const events = await second.follow(runId);
    expect(events).toContain('"status":"completed"');
    expect(events).not.toContain('unknown key');
  });
});
