import type { Links, ScriptPosition, StoredScript } from '../../protocol/index.js';
import { savedScriptId } from '../../protocol/saved-script.js';
import { sha256 } from '../../text/crypto.js';
import { LineIndex } from '../syntax/source-text.js';
import { encodePositions, openCell, PositionTable } from './wrapper.js';

/** Maximum depth to which saved scripts can run each other. */
const MAX_DEPTH = 8;
/** Lines before the source of a saved script: the line that declares `input`. */
const LINES_BEFORE = 1;
/** Lines after the source of a saved script: the line that ends its function. */
const LINES_AFTER = 1;

interface LinkedPart {
  readonly id: string;
  /** The line of the whole code at which the saved script's code starts. */
  readonly firstLine: number;
  /** The number of the last source line in the text that was compiled. */
  readonly lastLine: number;
  readonly table: PositionTable;
}

/**
 * A script and the saved scripts that it can run, as one function expression, so that they share a sandbox, and with it
 * calls, limits, approvals, the journal and the memory image.
 *
 * Each script keeps the function that its own compilation made, so no script sees the variables of another. In each of
 * these functions, a view shadows the real `tools`. In this view, a tool that runs a saved script first calls the real
 * tool, which checks the input, and then the saved script's function. The names around the functions contain the hash
 * of all sources. No source can contain this hash, so no script can use these names. The lines of the script itself
 * keep their numbers.
 */
export class ScriptLinks {
  readonly javascript: string;
  readonly #parts: LinkedPart[] = [];

  constructor(script: StoredScript, { tools, scripts }: Links) {
    const compiled = scripts.map((linked) => ({ id: savedScriptId(linked), ...linked.compiled }));
    // defence: names-around-scripts-are-hashes
    const name = `$${sha256(JSON.stringify([script.source, tools, compiled.map(({ source }) => source)])).slice(0, 32)}`;
    const { before, after } =
      script.topLevel === undefined
        ? { before: `(async()=>{"use strict";const tools=${name}(0);return ${script.javascript}();\n`, after: '})' }
        : openCell(script.javascript, `${name}(0)`);
    let code = before;
    for (const [index, { id, ...part }] of compiled.entries()) {
      code += `function ${name}_${index}(context,tools){return `;
      const table = new PositionTable(() => encodePositions(part));
      this.#parts.push({
        id,
        firstLine: lineCount(code),
        lastLine: new LineIndex(part.source).lineCount - LINES_AFTER,
        table,
      });
      code += `${part.javascript}()}\n`;
    }
    const bodies = compiled.map(({ id }, index) => `${JSON.stringify(id)}:${name}_${index}`);
    this.javascript = `${code}${viewCode(name, tools, bodies.join())}${after}`;
  }

  /** The position in a saved script; undefined for code that belongs to no saved script. */
  original(line: number, column: number): ScriptPosition | undefined {
    const part = this.#parts.findLast(({ firstLine }) => firstLine <= line);
    const place = part?.table.original(line - part.firstLine + 1, column);
    if (part === undefined || place === undefined) return undefined;
    if (place.line <= LINES_BEFORE || place.line > part.lastLine) return undefined;
    return { ...place, line: place.line - LINES_BEFORE, saved: part.id };
  }
}

/** The number of lines as the engine counts them: only \n ends a line. */
function lineCount(code: string): number {
  return code.split('\n').length;
}

/**
 * The code of a function that makes the view for one depth. Everything that the function uses is frozen before the
 * first script runs.
 */
function viewCode(name: string, tools: readonly string[], bodies: string): string {
  const namespaces = tools.flatMap((tool) => {
    const parts = tool.split('.');
    return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('.'));
  });
  return `function ${name}(depth){
const runners=new Set(${JSON.stringify(tools)}),namespaces=new Set(${JSON.stringify([...new Set(namespaces)])});
const bodies={__proto__:null,${bodies}},made=new Map();
const run=async(call,args)=>{
if(depth>=${MAX_DEPTH})throw new ToolExecutionError("Saved scripts can run each other ${MAX_DEPTH} levels deep, not deeper.");
const ready=await call(args),body=bodies[ready.script];
if(body===undefined)throw new ToolExecutionError("This saved script is not linked to the script that runs it.");
const own={snippetInput:{value:ready.input,enumerable:true}};
const value=await body(Object.freeze(Object.create(context,own)),${name}(depth+1));
const plain=value===undefined?undefined:JSON.parse(JSON.stringify(value));
return ready.checksResult===true?(await call({savedResult:plain??null,script:ready.script})).value:plain;
};
const view=(real,path)=>{
const member=(key)=>{
const value=real[key],inner=path+String(key);
if(typeof key==="symbol"||typeof value!=="function"&&!namespaces.has(inner))return value;
if(typeof value==="function"&&!runners.has(inner))return value;
let own=made.get(inner);
if(own===undefined)made.set(inner,own=runners.has(inner)?Object.freeze({[value.name]:(args)=>run(value,args)}[value.name]):view(value,inner+"."));
return own;
};
return new Proxy(Object.create(null),{__proto__:null,
get:(_target,key)=>member(key),
has:(_target,key)=>key in real,
ownKeys:()=>Reflect.ownKeys(real),
getOwnPropertyDescriptor:(_target,key)=>{
const own=Reflect.getOwnPropertyDescriptor(real,key);
return own&&{value:member(key),writable:false,enumerable:own.enumerable,configurable:true};
},
set:(_target,key,value)=>Reflect.set(real,key,value),
defineProperty:(_target,key,own)=>Reflect.defineProperty(real,key,own),
deleteProperty:(_target,key)=>Reflect.deleteProperty(real,key),
setPrototypeOf:()=>false,
preventExtensions:()=>false});
};
return view(globalThis.tools,"");
}
`;
}
