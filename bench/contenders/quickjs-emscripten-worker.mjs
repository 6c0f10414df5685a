import { LOCKDOWN } from './lockdown.mjs';
import { requirePeer } from './peers.mjs';
import { serveScripts } from './serve-scripts.mjs';

const { getQuickJS, shouldInterruptAfterDeadline } = requirePeer('quickjs-emscripten');
const QuickJS = await getQuickJS();

const PRELUDE = `${LOCKDOWN}
const tools = (() => {
  const host = $call;
  delete globalThis.$call;
  const call = async (name, args) => JSON.parse(await host(name, JSON.stringify(args)));
  return Object.freeze({ echo: (args) => call('echo', args), wait: (args) => call('wait', args) });
})();`;

serveScripts(async (source, callTool) => {
  const runtime = QuickJS.newRuntime();
  runtime.setMemoryLimit(96 * 1_048_576);
  runtime.setMaxStackSize(512 * 1024);
  runtime.setInterruptHandler(shouldInterruptAfterDeadline(Date.now() + 30_000));
  const context = runtime.newContext();
  try {
    offerTools(context, callTool);
    const started = context.unwrapResult(
      context.evalCode(`${PRELUDE}\n(async function () {\n${source}\n})()`, 'script.js'),
    );
    const settled = context.resolvePromise(started);
    started.dispose();
    runtime.executePendingJobs();
    return context.unwrapResult(await settled).consume(context.dump);
  } finally {
    context.dispose();
    runtime.dispose();
  }
});

/** The settlements of one tick are collected, and then the pending jobs run once. */
function offerTools(context, callTool) {
  let scheduled = false;
  const advance = () => {
    if (scheduled) return;
    scheduled = true;
    queueMicrotask(() => {
      scheduled = false;
      if (context.alive) context.runtime.executePendingJobs();
    });
  };
  const call = context.newFunction('call', (name, argsJson) => {
    const deferred = context.newPromise();
    void callTool(context.getString(name), context.getString(argsJson)).then((json) => {
      if (!context.alive) return;
      context.newString(json).consume((text) => deferred.resolve(text));
      deferred.dispose();
      advance();
    });
    return deferred.handle;
  });
  call.consume((handle) => context.setProp(context.global, '$call', handle));
}
