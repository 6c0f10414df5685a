import { z } from 'zod';
import { defineTool } from './dist/index.js';
const D={description:'x',execute:()=>1};
const node=z.lazy(()=>z.union([z.object({a:z.string(),c:node}),z.object({b:z.string(),c:node}),z.object({leaf:z.number()})]));
const T={
 zunion:defineTool({name:'t',...D,input:z.object({n:node})}),
 zarr:defineTool({name:'t',...D,input:z.object({n:z.array(z.string())})}),
 zobjarr:defineTool({name:'t',...D,input:z.object({n:z.array(z.object({a:z.string()}))})}),
 zrec:defineTool({name:'t',...D,input:z.object({n:z.record(z.string(),z.string())})}),
 zrecpat:defineTool({name:'t',...D,input:z.object({n:z.record(z.string().regex(/^a/),z.string())})}),
 zkeys:defineTool({name:'t',...D,input:z.object({n:z.object({alpha:z.string().optional()})})}),
 ztup:defineTool({name:'t',...D,input:z.object({n:z.tuple([z.number()]).rest(z.string())})}),
 zregex:defineTool({name:'t',...D,input:z.object({n:z.string().regex(/^(a+)+$/)})}),
 junion:defineTool({name:'t',...D,inputSchema:{type:'object',properties:{n:{$ref:'#/$defs/n'}},$defs:{n:{anyOf:[{type:'object',properties:{a:{type:'string'},c:{$ref:'#/$defs/n'}},required:['a','c']},{type:'object',properties:{b:{type:'string'},c:{$ref:'#/$defs/n'}},required:['b','c']},{type:'object',properties:{leaf:{type:'number'}},required:['leaf']}]}}}}),
 jarr:defineTool({name:'t',...D,inputSchema:{type:'object',properties:{n:{type:'array',items:{type:'string'}}}}}),
 jobjarr:defineTool({name:'t',...D,inputSchema:{type:'object',properties:{n:{type:'array',items:{type:'object',properties:{a:{type:'string'}},required:['a'],additionalProperties:false}}}}}),
 junion2:defineTool({name:'t',...D,inputSchema:{type:'object',properties:{n:{type:'array',items:{anyOf:[{type:'string'},{type:'boolean'},{type:'object'}]}}}}}),
 jrec:defineTool({name:'t',...D,inputSchema:{type:'object',properties:{n:{type:'object',additionalProperties:{type:'string'}}}}}),
 jkeys:defineTool({name:'t',...D,inputSchema:{type:'object',properties:{alpha:{type:'string'}}}}),
 jkeys2:defineTool({name:'t',...D,inputSchema:{type:'object',properties:{n:{type:'object',properties:{alpha:{}},additionalProperties:false}}}}),
 jenum:defineTool({name:'t',...D,inputSchema:{type:'object',properties:{n:{type:'array',items:{enum:Array.from({length:2000},(_,i)=>({a:i}))}}}}}),
 junique:defineTool({name:'t',...D,inputSchema:{type:'object',properties:{n:{type:'array',items:{type:'array',uniqueItems:true}}}}}),
 jcontains:defineTool({name:'t',...D,inputSchema:{type:'object',properties:{n:{type:'array',contains:{type:'string'}}}}}),
};
var I; 
const deep=(n,leaf)=>{let v=leaf;for(let i=0;i<n;i++)v={a:'x',b:'x',c:v};return v};
const many=(v,bytes=1e6)=>{const l=JSON.stringify(v).length+1;return Array.from({length:bytes/l|0},()=>v)};
const keys=(n=80000)=>Object.fromEntries(Array.from({length:n},(_,i)=>['k'+i,1]));
const V={ deep10:deep(10,{}), deep12:deep(12,{}), ints:many(1), objs:many({}), objs2:many({a:1}), arrs:many([]), keys:keys(), manykeys:many(keys(50)), uniq:many(Array.from({length:499},(_,i)=>i)), uniqo:many(Array.from({length:499},(_,i)=>({a:i}))), str:'a'.repeat(28)+'b'};
const R={zunion:['deep10'],zarr:['ints'],zobjarr:['objs','objs2','ints','manykeys'],zrec:['keys'],zrecpat:['keys'],zkeys:['keys'],ztup:['ints'],zregex:['str'],junion:['deep10','deep12'],jarr:['ints'],jobjarr:['objs','objs2','manykeys'],junion2:['ints'],jrec:['keys'],jkeys2:['keys'],jenum:['ints','objs'],junique:['uniq','uniqo'],jcontains:['ints']};
const only=process.argv[2];
for (const [t,vs] of Object.entries(R)) for(const v of vs) { if(only&&!t.startsWith(only))continue; const s=performance.now(); const r=T[t].validateInput({n:V[v]}); console.log(t,v,(performance.now()-s).toFixed(0)+'ms',r.ok,r.issues?.length,JSON.stringify(r.issues?.[0])?.slice(0,150)); }
{const s=performance.now(); const r=T.jkeys.validateInput(keys()); console.log('jkeys top',(performance.now()-s).toFixed(0)+'ms',r.ok,r.issues?.length)}
{const s=performance.now(); const r=T.zkeys.validateInput(keys()); console.log('zkeys top',(performance.now()-s).toFixed(0)+'ms',r.ok,r.issues?.length)}
