import { it } from 'vitest';
import { writeFileSync } from 'node:fs';
import { createHarness } from '#core/index.js';
import { makeWorld } from './world.js';
import { badScripts, goodScripts } from './corpus.js';
it('x', async () => {
  const out: any[] = [];
  const h = createHarness({ tools: makeWorld(), approvals: 'auto', mode: 'dry-run', typecheck: 'error' } as any);
  for (const b of badScripts()) {
    const o: any = await h.runScript(b.source, { context: { workingDirectory: '/project' } });
    let r: any;
    { const h2 = createHarness({ tools: makeWorld(), approvals: 'auto', typecheck: 'off' }); r = await h2.runScript(b.source, { context: { workingDirectory: '/project' } }); await h2.close(); }
    out.push({ kind: 'bad', ...b, source: 0, status: o.status, ran: r.status === 'completed' ? r.value ?? 'undef' : r.error.code + ' ' + r.error.line + ' ' + r.error.message, error: o.error && { code: o.error.code, message: o.error.message, line: o.error.line }, diagnostics: o.diagnostics });
  }
  for (const b of goodScripts()) {
    const o: any = await h.runScript(b.source, { context: { workingDirectory: '/project' } });
    out.push({ kind: 'good', ...b, source: 0, status: o.status, error: o.error && { code: o.error.code, message: o.error.message, line: o.error.line }, diagnostics: o.diagnostics });
  }
  await h.close();
  writeFileSync('/tmp/chk/check-run.json', JSON.stringify(out, null, 1));
}, 100000);
