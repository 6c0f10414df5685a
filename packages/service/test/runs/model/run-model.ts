import type { Machine } from './explore.js';

/** The rules of the design. A variant of the design leaves out one of them. */
export interface Rules {
  /** The first intent of a script stores the id of its run in the same transaction. */
  readonly linksScripts: boolean;
  /** Recovery asks the store for the scripts of a run, not only the run's events. */
  readonly asksStore: boolean;
  /** The store refuses the first intent of a script whose run has a newer claim. */
  readonly fencesFirstIntents: boolean;
  /** A worker asks the store of runs for its claim between the first intent of a script and its effect. */
  readonly confirmsFirstIntents: boolean;
  /** The store refuses an intent of a script that another worker has claimed. */
  readonly fencesIntents: boolean;
  /** The events of a script are in the log before its first intent. */
  readonly flushesEvents: boolean;
  /** A worker stores the intent before the effect. */
  readonly storesIntents: boolean;
  /** A worker whose log has lost its data asks the store of runs before it writes the log again. */
  readonly confirmsClaims: boolean;
  /** A store of documents knows a change longer than the version that it made. */
  readonly remembersChanges: boolean;
}

export const DESIGN: Rules = {
  linksScripts: true,
  asksStore: true,
  fencesFirstIntents: true,
  confirmsFirstIntents: false,
  fencesIntents: true,
  flushesEvents: true,
  storesIntents: true,
  confirmsClaims: true,
  remembersChanges: true,
};

export interface Bounds {
  /** Calls with an effect that the script makes, one after the other. */
  readonly calls: number;
  /** The calls change a document, and are repeated with their key. Otherwise they are never repeated. */
  readonly areRepeatable: boolean;
  /** A worker process ends. */
  readonly crashes: number;
  /** A lease ends although its worker lives: a pause, or a network that delays. */
  readonly lapses: number;
  /** The log loses all of its data. */
  readonly losses: number;
}

const NAMES = ['A', 'B'] as const;
type Name = (typeof NAMES)[number];

interface Worker {
  /** The next step of the worker. */
  at:
    | 'claim'
    | 'open'
    | 'recover'
    | 'flush'
    | 'take'
    | 'intend'
    | 'confirm'
    | 'act'
    | 'settle'
    | 'publish'
    | 'copy'
    | 'finish';
  /** The epoch of its claim of the run. */
  epoch: number;
  script: string;
  /** The epoch of its claim of the script; 0: not claimed. */
  scriptEpoch: number;
  call: number;
  events: string[];
  /** The number of events that the log has acknowledged. */
  sent: number;
}

interface World {
  run: { epoch: number; isLeased: boolean; holder: Name | ''; isEnded: boolean };
  /** The rows of scripts. Their lines are the journal. */
  scripts: Record<string, { epoch: number; isLinked: boolean; lines: string[] }>;
  log: { epoch: number; events: string[] };
  /** The events in the store of threads. */
  thread: string[];
  /** The number of times that each effect has happened. */
  effects: number[];
  /** The keys of the document's changes that the store knows. */
  known: number[];
  rivals: number;
  workers: Record<Name, Worker>;
  left: { crashes: number; lapses: number; losses: number };
}

const IDLE: Worker = { at: 'claim', epoch: 0, script: '', scriptEpoch: 0, call: 0, events: [], sent: 0 };

/** `structuredClone` takes ten times as long. */
function copyOf({ run, scripts, log, thread, effects, known, rivals, workers: { A, B }, left }: World): World {
  const copied = Object.entries(scripts).map(([id, script]) => [id, { ...script, lines: [...script.lines] }]);
  return {
    run: { ...run },
    scripts: Object.fromEntries(copied) as World['scripts'],
    log: { epoch: log.epoch, events: [...log.events] },
    thread: [...thread],
    effects: [...effects],
    known: [...known],
    rivals,
    workers: { A: { ...A, events: [...A.events] }, B: { ...B, events: [...B.events] } },
    left: { ...left },
  };
}

/** One run with one script, which two workers may execute, over a database and a log that may lose its data. */
export function runModel(rules: Rules, bounds: Bounds): Machine<World> {
  const { calls, areRepeatable, ...left } = bounds;
  const none = Array.from({ length: calls }, () => 0);
  const start: World = {
    run: { epoch: 0, isLeased: false, holder: '', isEnded: false },
    scripts: {},
    log: { epoch: 0, events: [] },
    thread: [],
    effects: none,
    known: [],
    rivals: areRepeatable ? 1 : 0,
    workers: { A: IDLE, B: IDLE },
    left,
  };
  return { start, next, broken };

  function next(world: World): [string, World][] {
    const steps: [string, World][] = [];
    const add = (act: (copy: World) => string): void => {
      const copy = copyOf(world);
      steps.push([act(copy), copy]);
    };
    for (const name of NAMES) {
      const { at, events, sent } = world.workers[name];
      if (at !== 'claim') add((copy) => work(copy, name));
      else if (!world.run.isEnded && !world.run.isLeased) add((copy) => claim(copy, name));
      if (!['claim', 'open', 'flush', 'publish'].includes(at) && events.length > sent)
        add((copy) => `${name} ${publish(copy, name) ? 'publishes its events' : 'learns that it has lost the run'}`);
      if (world.left.crashes > 0 && at !== 'claim') add((copy) => crash(copy, name));
    }
    if (world.log.events.length > world.thread.length) add(copyEvents);
    if (world.left.lapses > 0 && world.run.isLeased) add(lapse);
    if (world.left.losses > 0 && world.log.epoch > 0) add(lose);
    if (world.rivals > 0 && world.effects.includes(1)) add(rival);
    return steps;
  }

  function broken({ run, thread, effects }: World, isLast: boolean): string | undefined {
    for (const [call, count] of effects.entries()) {
      if (count > 1) return `effect ${call} has happened twice`;
      if (!run.isEnded) continue;
      const isUnknown = thread.includes(`${call} unknown`);
      if (count === 1 && !isUnknown && !thread.includes(`${call} completed`))
        return `effect ${call} has happened, and the run has ended without a report of it`;
      if (count === 0 && thread.includes(`${call} completed`))
        return `effect ${call} is reported as completed, and has not happened`;
    }
    return isLast && !run.isEnded ? 'the run cannot end' : undefined;
  }

  function claim({ run, workers }: World, name: Name): string {
    run.epoch += 1;
    run.isLeased = true;
    run.holder = name;
    workers[name] = { ...IDLE, at: 'open', epoch: run.epoch };
    return `${name} claims the run with epoch ${run.epoch}`;
  }

  /** The next step of a worker that has claimed the run. */
  function work(world: World, name: Name): string {
    const { run, scripts, workers, log } = world;
    const worker = workers[name];
    const { at, call, epoch } = worker;
    const isHeld = run.epoch === epoch;
    switch (at) {
      case 'open': {
        if (log.epoch > epoch || !isHeld) return lost(world, name);
        log.epoch = epoch;
        world.thread.push(...log.events.slice(world.thread.length));
        log.events = [...world.thread];
        Object.assign(worker, { at: 'recover', events: [...world.thread], sent: world.thread.length });
        return `${name} reads ${worker.events.length} events`;
      }
      case 'recover':
        return `${name} ${recover(world, name)}`;
      case 'flush':
        if (rules.flushesEvents && !publish(world, name)) return `${name} learns that it has lost the run`;
        worker.at = 'take';
        return `${name} has its events in the log`;
      case 'take': {
        if (scripts[worker.script] !== undefined) return lost(world, name);
        scripts[worker.script] = { epoch: 1, isLinked: false, lines: [] };
        Object.assign(worker, { at: 'intend', scriptEpoch: 1 });
        return `${name} claims its script ${worker.script}`;
      }
      case 'intend': {
        const script = scripts[worker.script]!;
        if (rules.fencesIntents && script.epoch !== worker.scriptEpoch) return lost(world, name);
        const isFirst = script.lines.length === 0;
        if (rules.fencesFirstIntents && isFirst && !isHeld) return lost(world, name);
        if (rules.storesIntents) script.lines.push(`${call} intent`);
        script.isLinked = rules.linksScripts;
        worker.at = rules.confirmsFirstIntents && isFirst ? 'confirm' : 'act';
        return `${name} stores the intent of effect ${call}`;
      }
      case 'confirm':
        if (!isHeld) return lost(world, name);
        worker.at = 'act';
        return `${name} has its claim confirmed`;
      case 'act':
        worker.at = 'settle';
        if (world.known.includes(call)) return `${name} repeats effect ${call}, which the store knows`;
        if (areRepeatable) world.known.push(call);
        world.effects[call]! += 1;
        return `${name} has effect ${call}`;
      case 'settle': {
        const script = scripts[worker.script]!;
        if (script.epoch !== worker.scriptEpoch) return lost(world, name);
        script.lines.push(`${call} completed`);
        settled(worker, call, 'completed');
        return `${name} stores the result of effect ${call}`;
      }
      case 'publish':
        if (!publish(world, name)) return `${name} learns that it has lost the run`;
        worker.at = 'copy';
        return `${name} publishes the end of the run`;
      case 'copy':
        if (!isHeld) return lost(world, name);
        world.thread.push(...worker.events.slice(world.thread.length));
        worker.at = 'finish';
        return `${name} has its events in the thread`;
      default:
        if (!isHeld) return lost(world, name);
        Object.assign(run, { isLeased: false, holder: '', isEnded: true });
        workers[name] = IDLE;
        return `${name} ends the run`;
    }
  }

  /** Continues the script that the events or the store name, or starts a new one. */
  function recover({ scripts, workers }: World, name: Name): string {
    const worker = workers[name];
    const named = worker.events.filter((event) => event.startsWith('script ')).map((event) => event.slice(7));
    const linked = Object.keys(scripts).filter((id) => rules.asksStore && scripts[id]!.isLinked);
    const ids = new Set([...named, ...linked]);
    for (const id of ids) {
      scripts[id] ??= { epoch: 0, isLinked: false, lines: [] };
      scripts[id].epoch += 1;
    }
    const id = [...ids].find((one) => scripts[one]!.lines.length > 0);
    if (id === undefined) {
      const script = `${name}${worker.epoch}`;
      Object.assign(worker, { at: 'flush', script, events: [...worker.events, `script ${script}`] });
      return `starts the script ${script}`;
    }
    const { epoch, lines } = scripts[id]!;
    Object.assign(worker, { at: 'intend', script: id, scriptEpoch: epoch });
    for (let call = 0; call < calls && lines.includes(`${call} intent`); call += 1) {
      const isUnknown = !lines.includes(`${call} completed`) && !lines.includes(`${call} unknown`);
      if (isUnknown && areRepeatable) {
        Object.assign(worker, { at: 'act', call });
        break;
      }
      if (isUnknown) lines.push(`${call} unknown`);
      settled(worker, call, lines.includes(`${call} completed`) ? 'completed' : 'unknown');
    }
    return `continues the script ${id}`;
  }

  /** Reports the end of a call. The script makes its next call, or ends. */
  function settled(worker: Worker, call: number, status: string): void {
    const event = `${call} ${status}`;
    if (!worker.events.includes(event)) worker.events.push(event);
    worker.call = call + 1;
    worker.at = worker.call < calls ? 'intend' : 'publish';
  }

  /** Returns false if the worker has lost the run. A log without the run gets the earlier events again. */
  function publish(world: World, name: Name): boolean {
    const { log, run, workers, thread } = world;
    const worker = workers[name];
    const { epoch, events, sent } = worker;
    const hasLost = log.epoch === 0 || log.events.length < sent;
    // Without new events, nothing is written, and a loss is not noticed.
    if (events.length === sent) return true;
    const isRefused = log.epoch > epoch || (hasLost && rules.confirmsClaims && run.epoch !== epoch);
    if (isRefused || (!hasLost && log.events.length > sent)) {
      lost(world, name);
      return false;
    }
    if (hasLost && run.epoch === epoch) thread.push(...events.slice(thread.length, sent));
    log.epoch = epoch;
    log.events = [...events];
    worker.sent = events.length;
    return true;
  }

  /** The worker stops, and no longer renews a lease that it has. */
  function lost({ run, workers }: World, name: Name): string {
    if (run.epoch === workers[name].epoch) run.isLeased = false;
    workers[name] = IDLE;
    return `${name} learns that it has lost the run`;
  }

  function crash({ run, workers, left: budget }: World, name: Name): string {
    const { epoch } = workers[name];
    budget.crashes -= 1;
    workers[name] = IDLE;
    if (run.epoch === epoch) run.isLeased = false;
    return `${name} dies`;
  }

  function lapse({ run, left: budget }: World): string {
    budget.lapses -= 1;
    run.isLeased = false;
    return `the lease of ${run.holder} ends, and ${run.holder} lives`;
  }

  function lose(world: World): string {
    world.left.losses -= 1;
    world.log = { epoch: 0, events: [] };
    return 'the log loses its data';
  }

  function copyEvents({ log, thread }: World): string {
    thread.push(...log.events.slice(thread.length));
    return 'the persistence worker copies the events';
  }

  function rival(world: World): string {
    world.rivals -= 1;
    if (!rules.remembersChanges) world.known = [];
    return 'another conversation changes the document';
  }
}
