import { join } from 'node:path';
import { defineTool, fileStore } from '@toolscript/core';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { newFolder } from '@toolscript/testkit/folder';
import { describeWithSmallDisk, SmallDisk } from '../../../service/test/stores/support/small-disk.js';
import { effectsIn, oneScriptAgent } from '../support/one-script-agent.js';
import { openTestServer } from '../support/test-server.js';

describeWithSmallDisk('a run whose scripts are on a full disk', () => {
  it.each([
    ['first', "await tools.fill({}); await tools.mark({ tag: 'a' }); return await tools.mark({ tag: 'b' });"],
    ['second', "await tools.mark({ tag: 'a' }); await tools.fill({}); return await tools.mark({ tag: 'b' });"],
  ])('stops before its %s effect, and continues when there is room', async (_which, code) => {
    const disk = new SmallDisk(8);
    const folder = newFolder();
    const scripts = fileStore(join(disk.folder, 'scripts'));
    const faults: string[] = [];
    let isFilled = false;
    const fill = defineTool({
      name: 'fill',
      description: 'fill',
      effect: 'read',
      approval: 'never',
      input: z.object({}),
      execute: () => {
        if (!isFilled) disk.fill();
        isFilled = true;
        return null;
      },
    });
    const server = await openTestServer({
      folder,
      scripts,
      logger: { level: 'error', stream: { write: (line: string) => void faults.push(line) } },
      agents: (parts) => [oneScriptAgent({ ...parts, moreTools: [fill] }, join(folder, 'effects'))],
    });
    onTestFinished(() => server.close({ keepsData: true }));
    const { body } = await server.call('POST', '/api/v2/submit', { prompt: code, agentId: 'one-script' });
    const { runId } = body as { runId: string };
    await expect.poll(() => faults.join('')).toContain('store of scripts');
    expect((await server.call('GET', `/api/v2/runs/${runId}`)).body.status).not.toBe('completed');
    disk.free();
    const state = async () => (await server.call('GET', `/api/v2/runs/${runId}`)).body.status;
    await expect.poll(state).toBe('completed');
    expect(effectsIn(join(folder, 'effects'))).toEqual(['a', 'b']);
    const text = JSON.stringify(await server.follow(runId));
    expect(text).toContain('"result":{"tag":"b"}');
    expect(text).not.toContain('StoreError');
    expect(text).not.toContain('harness.');
  });
});
