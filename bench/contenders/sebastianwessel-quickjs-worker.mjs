import { importablePeer } from './peers.mjs';
import { serveScripts } from './serve-scripts.mjs';

const { loadQuickJs } = await import(importablePeer('@sebastianwessel/quickjs'));
const { default: variant } = await import(importablePeer('@jitl/quickjs-ng-wasmfile-release-sync'));
const { runSandboxed } = await loadQuickJs(variant);

const PRELUDE = `const call = async (name, args) => JSON.parse(await env.call(name, JSON.stringify(args)));
const tools = { echo: (args) => call('echo', args), wait: (args) => call('wait', args) };`;

serveScripts(async (source, callTool) => {
  const options = { executionTimeout: 30_000, memoryLimit: 96 * 1_048_576, env: { call: callTool } };
  const code = `${PRELUDE}\nexport default await (async function () {\n${source}\n})();`;
  const result = await runSandboxed(({ evalCode }) => evalCode(code), options);
  if (!result.ok) throw new Error(`${result.error.name}: ${result.error.message}`);
  return result.data;
});
