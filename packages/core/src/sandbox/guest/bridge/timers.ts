// `sleep`, the timers, which call it, and microtasks.
import { apply, freeze, Map, min, Promise, TypeError } from '../primordials.js';
import { send } from './calls.js';
import { mapDelete, mapGet, mapSet, promiseThen } from './captured.js';

type Callback = (...values: unknown[]) => unknown;

const MAX_WAIT_MS = 2147483647;

function wait(duration: unknown, isTimer: boolean): Promise<unknown> {
  const wanted = +(duration as number);
  const ms = wanted > 0 ? min(wanted, MAX_WAIT_MS) : 0;
  return send('"$sleep"', isTimer ? { ms, timer: true } : { ms }, true);
}

export const sleep = (duration: unknown): Promise<unknown> => wait(duration, false);

/** The function that ends each timer's race, by timer id. */
let timers = new Map<unknown, (answer: unknown) => void>();
let lastTimer = 0;
const CLEARED = freeze({ __proto__: null });

/** Drops the timers of the previous script, which never fire. */
export function dropTimers(): void {
  timers = new Map();
}

function newTimer(callback: unknown): number {
  if (typeof callback !== 'function') throw new TypeError('The callback of a timer must be a function.');
  return ++lastTimer;
}

/**
 * A timer is a call to `sleep` in a race. Clearing the timer decides the race, and nothing can still observe the call.
 * The host then ends the call, as it ends every loser of a race.
 */
function startTimer(id: number, duration: unknown, fire: () => unknown): void {
  const slept = wait(duration, true);
  const race = new Promise<unknown>((resolve, reject) => {
    mapSet(timers, id, resolve);
    promiseThen(slept, resolve, reject);
  });
  promiseThen(race, (answer) => (answer === CLEARED ? undefined : fire()));
}

export function setTimeout(callback: Callback, duration: unknown, ...values: unknown[]): number {
  const id = newTimer(callback);
  startTimer(id, duration, () => {
    mapDelete(timers, id);
    return apply(callback, undefined, values);
  });
  return id;
}

export function setInterval(callback: Callback, duration: unknown, ...values: unknown[]): number {
  const id = newTimer(callback);
  const fire = (): unknown => {
    startTimer(id, duration, fire);
    return apply(callback, undefined, values);
  };
  startTimer(id, duration, fire);
  return id;
}

export function clearTimeout(id: unknown): void {
  const decide = mapGet(timers, id);
  if (decide === undefined) return;
  mapDelete(timers, id);
  decide(CLEARED);
}

export const clearInterval = (id: unknown): void => clearTimeout(id);

const settledPromise = new Promise<void>((resolve) => resolve());

/**
 * QuickJS's own `queueMicrotask` ends the host's job if the callback throws, and a bare V8 realm has none. This
 * function turns the throw into a rejection.
 */
export function queueMicrotask(callback: () => unknown): void {
  if (typeof callback !== 'function') throw new TypeError('The callback of a microtask must be a function.');
  promiseThen(settledPromise, () => void apply(callback, undefined, []));
}
