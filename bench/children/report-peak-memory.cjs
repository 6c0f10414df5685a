// Preloaded: says at the process's end how much memory it held at most. Linux counts that for the program
// itself; elsewhere it is the system's figure for the process.
const { readFileSync, writeFileSync } = require('node:fs');

process.on('exit', () => {
  let kilobytes = process.resourceUsage().maxRSS;
  try {
    kilobytes = Number(/^VmHWM:\s+(\d+) kB/mu.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
  } catch {
    // No /proc here.
  }
  writeFileSync(process.env.TOOLSCRIPT_BENCH_PEAK, String(kilobytes));
});
