import { readFileSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createCompiler } from '#core/script/compile/compiler.js';

// Compiles each source that it receives, and reports the used time and memory of this process.
const compiler = createCompiler({ deadlineMs: 20_000 });
const compile = (source) => compiler.compile(source, { language: 'ts', maxSourceBytes: 65_536 });

/** The peak memory in MB. Linux can reset it; on other systems it is the maximum of the whole process. */
function peakMemory() {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS / 1024;
  const peak = /VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1] / 1024;
  writeFileSync('/proc/self/clear_refs', '5');
  return peak;
}

async function tell({ source }) {
  await compile('return 1');
  peakMemory();
  const before = process.memoryUsage().rss / 1_048_576;
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const started = performance.now();
  const result = await compile(source);
  const took = performance.now() - started;
  delay.disable();
  const next = await compile(`return ${Math.random()}`);
  process.send({
    code: result.ok ? 'compiled' : result.failure.code,
    grown: peakMemory() - before,
    stall: delay.max / 1e6,
    took,
    next: next.ok,
    restarts: compiler.stats().restarts,
  });
}

process.on('message', (question) => void tell(question));
