import { it } from 'vitest';
import { createHarness } from '#core/index.js';
import { badScripts, goodScripts } from '../checker/corpus.js';
import { makeWorld } from '../checker/world.js';
it('prints', async () => {
  const harness = createHarness({ tools: makeWorld(), approvals: 'auto', mode: 'dry-run' });
  let warned = 0;
  for (const { name, source } of goodScripts()) {
    const o = await harness.runScript(source);
    if (o.status === 'failed') console.log('REFUSED', name, o.error.message);
    for (const d of o.diagnostics)
      if (d.code.startsWith('ts')) {
        warned++;
        console.log('   warn', name, d.code, d.line, d.message.slice(0, 160));
      }
  }
  for (const { name, source, lines, about, mayWarn } of badScripts()) {
    const o = await harness.runScript(source);
    if (o.status !== 'failed' && !mayWarn)
      console.log(
        'MISSED',
        name,
        lines,
        about,
        JSON.stringify(o.diagnostics.map((d) => [d.code, d.line, d.message.slice(0, 200)])),
      );
  }
  console.log('good', goodScripts().length, 'warnings', warned);
  await harness.close();
}, 60000);
