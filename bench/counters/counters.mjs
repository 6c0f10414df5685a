import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The counts that are committed. A change beyond MAX_CHANGE is a fault, or a deliberate change of this file. */
const FIGURES = new URL('figures.json', import.meta.url);
const MAX_CHANGE = 0.05;
/** Counts of single objects have less room than a twentieth of one object. */
const SLACK = { counts: 0.05, bytes: 64 };

/**
 * Optimised code allocates less, at moments that differ from run to run. Code that is only interpreted allocates the
 * same bytes in each run.
 */
const INTERPRETED = ['--no-opt', '--no-maglev', '--no-sparkplug', '--expose-gc'];
/** Room for everything that is allocated between two collections, so that none happens meanwhile. */
const ROOM = ['--min-semi-space-size=128', '--max-semi-space-size=128'];

/**
 * Counts what a script and a call cost; see `count.mjs`.
 *
 * @param {{ folder?: string, env?: Record<string, string> }} [options] `folder`: a built checkout; default: this one.
 * @returns {{ counts: Record<string, number>, bytes: Record<string, number>, ratios: Record<string, number> }}
 */
export function readCounters({ folder, env = {} } = {}) {
  const program = fileURLToPath(new URL('count.mjs', import.meta.url));
  const flags = [...INTERPRETED, ...ROOM].filter((flag) => flag !== '--no-maglev' || nodeMajor() >= 22);
  const child = spawnSync(process.execPath, [...flags, program, ...(folder === undefined ? [] : [folder])], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  if (child.status !== 0) throw new Error(`The counters cannot be read: ${child.stderr}`);
  return JSON.parse(child.stdout);
}

/** @returns {{ node: number, counts: Record<string, number>, bytes: Record<string, number> }} */
export function committedFigures() {
  return JSON.parse(readFileSync(FIGURES, 'utf8'));
}

/** Numbers of bytes depend on the engine, so they are compared only in the version that wrote them. */
function nodeMajor() {
  return Number(process.versions.node.split('.')[0]);
}

/**
 * The counters that changed, each with its name, its committed figure and its present one.
 *
 * @returns {string[]}
 */
export function changedCounters(committed, counted) {
  return ['counts', 'bytes'].flatMap((kind) => {
    if (kind === 'bytes' && committed.node !== nodeMajor()) return [];
    const names = new Set([...Object.keys(committed[kind]), ...Object.keys(counted[kind])]);
    return [...names].flatMap((name) => {
      const { [name]: figure } = committed[kind];
      const { [name]: now } = counted[kind];
      const room = Math.max(SLACK[kind], (figure ?? 0) * MAX_CHANGE);
      return figure !== undefined && now !== undefined && Math.abs(now - figure) <= room
        ? []
        : [`${name}: ${figure} → ${now}`];
    });
  });
}
