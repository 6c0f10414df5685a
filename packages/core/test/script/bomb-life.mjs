import { readFileSync, writeFileSync } from 'node:fs';
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

/** The processor time of this thread in ms, which only waits; on other systems than Linux, the time. */
function busyMs() {
  if (process.platform !== 'linux') return performance.now();
  return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
}

/** The processor time of all threads in ms. */
function usedMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function tell({ source }) {
  await compile('return 1');
  peakMemory();
  const before = process.memoryUsage().rss / 1_048_576;
  const [busyBefore, usedBefore] = [busyMs(), usedMs()];
  const result = await compile(source);
  const [busyAfter, usedAfter] = [busyMs(), usedMs()];
  const next = await compile(`return ${Math.random()}`);
  process.send({
    code: result.ok ? 'compiled' : result.failure.code,
    grown: peakMemory() - before,
    busy: busyAfter - busyBefore,
    used: usedAfter - usedBefore,
    next: next.ok,
    restarts: compiler.stats().restarts,
  });
}

process.on('message', (question) => void tell(question));
