import { expect, it } from 'vitest';
import { listScripts, memoryStore } from '#core/index.js';
import { failureOf, open } from './world.js';

it('a script that failed by itself has ended, and is not recovered', async () => {
  const store = memoryStore();
  const { scriptId, ...outcome } = await open({ store }).runScript(
    'await tools.mark({ text: "a" }); throw new Error("no")',
  );
  expect(failureOf(outcome as never).code).toBe('ScriptRuntimeError');
  expect(await listScripts(store)).toMatchObject([{ scriptId, state: 'ended' }]);
  expect(failureOf(await open({ store }).recover(scriptId)).code).toBe('SuspensionError');
});
