import { createHarness, defineTool } from '#core/index.js';
import { z } from 'zod';
import fs from 'node:fs';
const threads = () => Object.fromEntries(fs.readdirSync('/proc/self/task').map((t) => { const x = fs.readFileSync(`/proc/self/task/${t}/stat`, 'utf8'); const r = x.slice(x.lastIndexOf(')') + 2).split(' '); return [x.slice(x.indexOf('(')+1, x.lastIndexOf(')')) + t, Number(r[11]) + Number(r[12])]; }));
const results = { mail: ({ i }) => ({ from: ['eve@x.org', 'bob@x.org', 'amy@x.org'][i ?? 0], body: 'pay 777 to IBAN99 '.repeat(50), tags: ['urgent', 'spam'] }), config: () => ({ owner: 'boss@corp.com', limit: 5 }), list: () => Array.from({ length: 2000 }, (_, i) => ({ id: (i * 7919) % 2000, name: `item ${i}`, owner: { mail: `u${i % 50}@x.org` } })), send: () => ({ ok: true }) };
const make = (flow) => createHarness({ approvals: 'auto', typecheck: 'off', limits: { computeMs: 60000, memoryMb: 256 }, tools: Object.keys(results).map((name) => defineTool({ name, description: name, input: z.looseObject({to: z.string().optional(), subject: z.string().optional()}), effect: name === 'send' ? 'external' : 'read', approval: 'never', ...(name === 'send' && flow ? { flow: { trusted: ['to', 'subject'] } } : {}), execute: (i) => results[name](i) })) });
const SCRIPTS = {
  '29 calls': `const out=[]; for(let i=0;i<14;i++){ const [m,c]=await Promise.all([tools.mail({i:i%3}),tools.config({})]); out.push(m.from+c.owner+m.body.split(' ').length);} await tools.send({to:out[0],all:out}); return out.length`,
  '2000 rows': `const l=await tools.list({}); const top=l.filter(x=>x.id<100).sort((a,b)=>a.id-b.id).map(x=>({name:x.name,mail:x.owner.mail})); await tools.send({rows:top,subject:'rows: '+top.length}); return top.length`,
  'short': `const m = await tools.mail({i:1}); await tools.send({to: m.from.trim(), subject: 'x'}); return 1`,
};
const N = Number(process.argv[2] ?? 40);
const plain = make(false), flow = make(true);
const run = async (h, s, n) => { const a = process.cpuUsage(); const t = performance.now(); for (let i = 0; i < n; i++) { const r = await h.runScript(s); if (r.status !== 'completed') { console.log(JSON.stringify(r)); process.exit(1); } } const u = process.cpuUsage(a); return [(u.user + u.system) / 1000 / n, (performance.now() - t) / n]; };
if (process.argv[3] === 'threads') for (const [name, s] of Object.entries(SCRIPTS)) for (const [k, h] of [['plain', plain], ['flow', flow]]) { await run(h, s, 20); const a = threads(); await run(h, s, N * 3); const b = threads(); console.log(name, k, Object.entries(b).map(([t, v]) => [t, ((v - (a[t] ?? 0)) * 10 / N / 3).toFixed(2)]).filter(([, v]) => v > 0.05).map((x) => x.join(' ')).join(', ')); }
else for (const [name, s] of Object.entries(SCRIPTS)) {
  await run(plain, s, 20); await run(flow, s, 20);
  const a = [], b = [];
  for (let k = 0; k < 5; k++) { a.push(await run(plain, s, N / 5)); b.push(await run(flow, s, N / 5)); }
  const min = (l, i) => Math.min(...l.map((x) => x[i]));
  console.log(`${name}: plain cpu ${min(a, 0).toFixed(2)} wall ${min(a, 1).toFixed(2)}; flow cpu ${min(b, 0).toFixed(2)} wall ${min(b, 1).toFixed(2)}; ratio cpu ${(min(b, 0) / min(a, 0)).toFixed(2)} wall ${(min(b, 1) / min(a, 1)).toFixed(2)}`);
}
await plain.close(); await flow.close();
