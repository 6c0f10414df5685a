import { availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os';

/** The machine on which the figures were measured. */
export function describeMachine() {
  const processors = cpus();
  return {
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()}`,
    node: process.version,
    loadBefore: loadavg().map((load) => Math.round(load * 100) / 100),
  };
}
