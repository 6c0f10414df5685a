import { QuickJsPool } from '#core/sandbox/index.js';
import { asScript, driveRun } from '#core/testing/drive-run.js';
import { labelledScript } from '#core/script/label-rewrite/labelled-script.js';
import { rewriteForLabels } from '#core/script/label-rewrite/rewrite.js';
const results = { mail: ({ i }) => ({ from: ['eve@x.org', 'bob@x.org', 'amy@x.org'][i ?? 0], body: 'pay 777 to IBAN99 '.repeat(50), tags: ['urgent', 'spam'] }), config: () => ({ owner: 'boss@corp.com', limit: 5 }), list: () => Array.from({ length: 2000 }, (_, i) => ({ id: (i * 7919) % 2000, name: `item ${i}`, owner: { mail: `u${i % 50}@x.org` } })), send: () => ({ ok: true }) };
const S = {
  empty: `return 1`,
  'one call': `const c=await tools.config({}); return 1`,
  'ten calls': `for(let i=0;i<10;i++) await tools.config({}); return 1`,
  'ten mails': `for(let i=0;i<10;i++) await tools.mail({i:1}); return 1`,
  '29 calls': `const out=[]; for(let i=0;i<14;i++){ const [m,c]=await Promise.all([tools.mail({i:i%3}),tools.config({})]); out.push(m.from+c.owner+m.body.split(' ').length);} await tools.send({to:out[0],all:out}); return out.length`,
  'list': `const l=await tools.list({}); return 1`,
  'list filter': `const l=await tools.list({}); const t=l.filter(x=>x.id<100); return t.length`,
  'list filter sort': `const l=await tools.list({}); const t=l.filter(x=>x.id<100).sort((a,b)=>a.id-b.id); return t.length`,
  'list filter map': `const l=await tools.list({}); const t=l.filter(x=>x.id<100).map(x=>({name:x.name,mail:x.owner.mail})); return t.length`,
  'list all': `const l=await tools.list({}); const t=l.filter(x=>x.id<100).sort((a,b)=>a.id-b.id).map(x=>({name:x.name,mail:x.owner.mail})); await tools.send({rows:t,subject:'rows: '+t.length}); return t.length`,
  'for of': `const l=await tools.list({}); let n=0; for (const x of l) n += x.id; return n`,
  'sieve': `let c=0; const s=new Array(6000).fill(true); for(let i=2;i<6000;i++){ if(s[i]){ c++; for(let j=i*2;j<6000;j+=i) s[j]=false; } } let o=''; for(let i=0;i<2000;i++) o+=String.fromCharCode(97+i%26); return c+o.length`,
};
const plain = new QuickJsPool({ size: 1 }), copies = new QuickJsPool({ size: 1, image: 'labels' });
const host = (n, a) => n.startsWith('$') ? undefined : results[n](a ?? {});
const cost = (r) => { if (r.end.type !== 'returned') console.log(r.end); return r.segments.reduce((s, x) => s + x.computeMs, 0); };
const only = process.argv[2];
for (const [name, body] of Object.entries(S)) {
  if (only && !name.includes(only)) continue;
  const rw = rewriteForLabels({ javascript: asScript(body), control: process.argv[3] === 'control' });
  const s = labelledScript(rw.code);
  const a = [], b = [];
  for (let i = 0; i < 15; i++) {
    a.push(cost(await driveRun(plain, body, { host, job: { toolNames: Object.keys(results) } })));
    b.push(cost(await driveRun(copies, '', { host, job: { toolNames: Object.keys(results), javascript: s.javascript, sha256: s.sha256 }, limits: { computeMs: 20000, maxOutputBytes: 1e7 } })));
  }
  const m = (l) => Math.min(...l);
  console.log(name.padEnd(18), m(a).toFixed(2).padStart(7), m(b).toFixed(2).padStart(8), (m(b) / m(a)).toFixed(1));
}
await plain.close(); await copies.close();
