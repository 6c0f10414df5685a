import { describe, expect, it } from 'vitest';
import { callsBefore, hasOmittedResult } from '#web/view/earlier-calls.ts';
import { frameAt, Replay, replayFrames } from '#web/view/replay.ts';
import { RunFold } from '#web/view/run-fold.ts';
import { scriptWaterfall } from '#web/view/waterfall.ts';
import { lineNotes } from '#web/view/line-notes.ts';
import type { RunView, ScriptView } from '#web/view/types.ts';
import type { StreamEvent } from '@toolscript/core/stream';
import { asked, begin, callDone, callStart, decided, eventsOf, operation, output, script } from './events.js';

const RUN = eventsOf(
  begin(),
  100,
  script(),
  110,
  callStart('c1'),
  callStart('c2'),
  { type: 'script_log', script_id: 'scr_1', level: 'log', text: 'hello', at_ms: 12 },
  130,
  callDone('c1'),
  150,
  callDone('c2', 'read', 'failed'),
  160,
  asked('c3'),
  3_600_160,
  decided('c3'),
  callStart('c3', 'write', 2),
  3_600_180,
  callDone('c3', 'write', 'completed', 2),
  3_600_190,
  output([operation('c1'), operation('c2', 'read', 'failed'), operation('c3', 'write', 'completed', 2)]),
);

function viewOf(events: readonly StreamEvent[]): RunView {
  const fold = new RunFold();
  for (const event of events) fold.apply(event);
  return fold.view();
}

function scriptIn(events = RUN): ScriptView {
  const entry = viewOf(events).entries.find(({ type }) => type === 'script');
  if (entry?.type !== 'script') throw new Error('no script');
  return entry.script;
}

describe('the view of a run', () => {
  it('begins with the user’s message, and shows a script once, with its output in it', () => {
    expect(viewOf(RUN).entries.map(({ type }) => type)).toEqual(['message', 'script']);
    expect(scriptIn().output?.result).toBe(1);
  });

  it('is the same for events that come twice', () => {
    expect(viewOf(RUN.flatMap((event) => [event, event])).entries.map(({ key }) => key)).toEqual(
      viewOf(RUN).entries.map(({ key }) => key),
    );
  });

  it('has the source of a script while the model writes it as an argument', () => {
    const typed = eventsOf(
      begin(),
      {
        type: 'item_start',
        item_id: 'i',
        item_type: 'function_call',
        initial: { call_id: 'call_1', name: 'run_script' },
      },
      { type: 'item_delta', item_id: 'i', delta: '{"code":"const a = \\"x\\";\\nret' },
    );
    expect(scriptIn(typed)).toMatchObject({ status: 'typing', source: 'const a = "x";\nret' });
  });

  it('knows when each call waited, ran and ended', () => {
    const [first, second, third] = scriptIn().calls;
    expect(first).toMatchObject({ status: 'completed', startedAt: 110, endedAt: 130 });
    expect(second).toMatchObject({ status: 'failed' });
    expect(third).toMatchObject({ wait: { from: 160, to: 3_600_160 }, decidedBy: 'person', status: 'completed' });
  });

  it('shows a denied call as denied', () => {
    const denied = eventsOf(begin(), script(), asked('c1'), decided('c1', 'deny'));
    expect(scriptIn(denied).calls[0]).toMatchObject({ status: 'denied', decision: 'deny' });
  });

  it('shows calls that have only an operation', () => {
    const events = eventsOf(begin(), script(), output([operation('c9', 'read', 'failed')]));
    expect(scriptIn(events).calls.map(({ callId, status }) => [callId, status])).toEqual([['c9', 'failed']]);
  });
});

describe('the waterfall', () => {
  it('keeps the order of times, stays within its width, and shortens a wait in which nothing runs', () => {
    const { rows, ticks } = scriptWaterfall(scriptIn(), 5_000_000);
    expect(rows.map(({ call }) => call.callId)).toEqual(['c1', 'c2', 'c3']);
    for (const { run, wait, end } of rows) {
      for (const bar of [run, wait]) {
        if (bar === undefined) continue;
        expect(bar.left).toBeGreaterThanOrEqual(0);
        expect(bar.left + bar.width).toBeLessThanOrEqual(1.01);
      }
      expect(end).toBeLessThanOrEqual(1.01);
    }
    expect(rows[0]!.run!.width).toBeGreaterThan(0.1);
    expect(rows[2]!.wait!.width).toBeLessThan(0.4);
    expect(rows[2]!.run!.left).toBeGreaterThan(rows[2]!.wait!.left);
    expect(ticks.at(-1)!.ms).toBeLessThan(1000);
  });

  it('draws a call that runs up to now', () => {
    const running = scriptIn(eventsOf(begin(), 100, script(), 100, callStart('c1')));
    expect(scriptWaterfall(running, 300).rows[0]!.run).toEqual({ left: 0, width: 1 });
  });
});

describe('a script that is typed as an argument', () => {
  it('is the same whether it is shown after each piece or at the end', () => {
    const text = JSON.stringify({ code: 'const a = "\\u00e9🎉";\nreturn a;\n', other: 'x' });
    const pieces = [...text].map((delta) => ({ type: 'item_delta' as const, item_id: 'i', delta }));
    const events = eventsOf(
      begin(),
      {
        type: 'item_start',
        item_id: 'i',
        item_type: 'function_call',
        initial: { call_id: 'call_1', name: 'run_script' },
      },
      ...pieces,
    );
    const shown = new RunFold();
    for (const event of events) {
      shown.apply(event);
      shown.view();
    }
    expect(shown.view()).toEqual(viewOf(events));
    expect(scriptIn(events).source).toBe(JSON.parse(text).code);
  });
});

describe('a script that is typed in text', () => {
  const start = { type: 'item_start', item_id: 'i', item_type: 'script_execution', initial: { call_id: 'c' } } as const;
  const delta = { type: 'item_delta', item_id: 'i', delta: 'return 1' } as const;

  it('waits for its turn only when it is complete', () => {
    expect(scriptIn(eventsOf(begin(), start, delta))).toMatchObject({ status: 'typing', source: 'return 1' });
    const update = { type: 'item_update', item_id: 'i', changes: { status: 'pending' } } as const;
    expect(scriptIn(eventsOf(begin(), start, delta, update)).status).toBe('pending');
  });
});

describe('the notes at the lines', () => {
  it('count the calls of each line, and show the worst state', () => {
    const notes = lineNotes(scriptIn().calls);
    expect([...notes.keys()]).toEqual([1, 2]);
    expect(notes.get(1)).toMatchObject({ label: 'read ×2', status: 'failed', durationMs: 40, effect: 'read' });
    expect(notes.get(2)).toMatchObject({ label: 'write', status: 'completed', effect: 'write' });
  });
});

describe('the replay', () => {
  it('has a frame for each event of the script, and shortens pauses', () => {
    const frames = replayFrames(RUN, scriptIn());
    expect(frames).toHaveLength(RUN.length - 1);
    expect(frames.at(-1)!.atMs).toBeLessThan(2000);
    expect(frames.map(({ atMs }) => atMs)).toEqual(frames.map(({ atMs }) => atMs).toSorted((a, b) => a - b));
  });

  it('ends with the script as it is, and begins without calls', () => {
    const frames = replayFrames(RUN, scriptIn());
    const replay = new Replay(RUN, 'call_1');
    expect(replay.after(frames.at(-1)!.events).script).toEqual(scriptIn());
    expect(replay.after(frames[0]!.events).script?.calls).toEqual([]);
  });

  it('finds the frame of each time', () => {
    const frames = [0, 10, 10, 30].map((atMs, events) => ({ atMs, events }));
    expect([-1, 0, 9, 10, 29, 30, 99].map((at) => frameAt(frames, at))).toEqual([0, 0, 0, 2, 2, 3, 3]);
  });
});

describe('the calls before a call', () => {
  it('have their results if they had ended when it was made', () => {
    const before = callsBefore(scriptIn(), 'c3');
    expect(before.map(({ tool, line, result }) => [tool, line, result])).toEqual([
      ['read', 1, 'text'],
      ['read', 1, 'text'],
    ]);
    expect(callsBefore(scriptIn(), 'c2').map(({ result }) => result)).toEqual([undefined]);
    expect(callsBefore(scriptIn(), 'unknown')).toEqual([]);
    expect(hasOmittedResult(before)).toBe(false);
  });
});

describe('the cost of a run', () => {
  it('is that of its requests, and unknown without prices', () => {
    const request = (cost?: number) =>
      ({ type: 'request_done', ...(cost === undefined ? {} : { cost }) }) as StreamEvent['payload'];
    expect(viewOf(eventsOf(begin(), request(0.25), request(), request(0.5))).cost).toBe(0.75);
    expect(viewOf(eventsOf(begin(), request())).cost).toBeUndefined();
  });
});

describe('a sub-agent of a script', () => {
  const start = {
    type: 'agent_start',
    agent_run_id: 'run_2',
    call_id: 'c1',
    script_id: 'scr_1',
    key: 'scr_1:0',
    agent: 'reader',
    task: 'Read a.',
    tools: ['read'],
    depth: 1,
    detached: false,
    budget: {},
  } as const;
  const events = eventsOf(
    begin(),
    100,
    script(),
    callStart('c1', 'agents.launch.sync'),
    110,
    start,
    ...eventsOf(120, begin('Read a.'), script(), callStart('c9'), 150, callDone('c9'), output([operation('c9')]), {
      type: 'response_done',
      status: 'completed',
    }).map(({ payload, timestamp, seq }) => {
      return { type: 'agent_event' as const, agent_run_id: 'run_2', seq, timestamp, event: payload };
    }),
    200,
    callDone('c1', 'agents.launch.sync'),
  );

  it('is in the script that launched it, with its own steps and times', () => {
    const [agent] = scriptIn(events).agents;
    expect(agent).toMatchObject({ runId: 'run_2', agent: 'reader', task: 'Read a.', startedAt: 110, endedAt: 152 });
    expect(agent!.run.status).toBe('completed');
    const own = agent!.run.entries.find(({ type }) => type === 'script');
    expect(own?.type === 'script' && own.script.calls.map(({ callId }) => callId)).toEqual(['c9']);
    // The calls of a sub-agent are not those of the script that launched it.
    expect(scriptIn(events).calls.map(({ callId }) => callId)).toEqual(['c1']);
  });

  it('appears as soon as it starts, and changes the view of its script with each event', () => {
    const views = events.map((_, index) => (index < 2 ? undefined : scriptIn(events.slice(0, index))));
    const started = views.findIndex((view) => (view?.agents.length ?? 0) > 0);
    expect(events[started - 1]!.payload.type).toBe('agent_start');
    expect(scriptIn(events.slice(0, started)).agents[0]!.run.status).toBe('in_progress');
    expect(scriptIn(events.flatMap((event) => [event, event])).agents).toHaveLength(1);
  });
});
