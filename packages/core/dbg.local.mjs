import { createHarness, defineTool } from '#core/index.js';
import { z } from 'zod';
const tool = (name, rest, run) => defineTool({ name, description: name, input: z.looseObject({to: z.string().optional()}), effect: 'read', approval: 'never', execute: run, ...rest });
const h = createHarness({ approvals: 'auto', onInternalError: console.log, tools: [tool('page', { trust: 'untrusted' }, () => ({ text: 'evil x', account: 'XK05 12' })), tool('contact', {}, () => ({ account: 'NO11 4' })), tool('send', { effect: 'external', approval: undefined, flow: { trusted: ['to'] } }, () => 'ok')] });
const s = process.argv[2] ?? `const page = await tools.page({}); const who = await tools.contact({}); await tools.send({ to: who.account.replace('NO','no'), subject: page.text });`;
const r = await h.runScript(s);
console.log(r.status, r.error, JSON.stringify(r.pendingApprovals?.[0]?.provenance ?? {}, null, 1));
await h.close();
