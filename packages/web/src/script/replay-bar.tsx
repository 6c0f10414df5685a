import { useEffect, useMemo, useRef, useState } from 'react';
import type { StreamEvent } from '@toolscript/client';
import { IconButton } from '../parts/icon-button.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { errorText } from '../state/session.ts';
import { duration } from '../view/format.ts';
import { frameAt, Replay, replayFrames } from '../view/replay.ts';
import type { ScriptView } from '../view/types.ts';

const SPEEDS = [
  { id: '1', title: '1×' },
  { id: '0.25', title: '¼×' },
  { id: '4', title: '4×' },
] as const;
const TICK_MS = 40;

export type ReadEvents = (signal: AbortSignal) => Promise<readonly StreamEvent[]>;

interface ReplayProps {
  readonly script: ScriptView;
  /** Shows the script as it was at a time in ms since 1970. */
  readonly onShow: (script: ScriptView | undefined, at: number) => void;
}

interface ScriptReplayProps extends ReplayProps {
  /** Reads the events of the script's run. */
  readonly readEvents: ReadEvents;
}

/** A slider over the stored events of a script that has ended. */
export function ScriptReplay({ readEvents, ...props }: ScriptReplayProps) {
  const [events, setEvents] = useState<readonly StreamEvent[]>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const stop = new AbortController();
    const unlessStopped =
      <Value,>(set: (value: Value) => void) =>
      (value: Value) => {
        if (!stop.signal.aborted) set(value);
      };
    readEvents(stop.signal).then(unlessStopped(setEvents), unlessStopped(setError));
    return () => stop.abort();
  }, [readEvents]);
  if (events !== undefined) return <ReplayBar events={events} {...props} />;
  return error === undefined ? (
    <p className="replay dim" role="status">
      Reading the events …
    </p>
  ) : (
    <p className="replay error-text" role="alert">
      {errorText(error)}
    </p>
  );
}

interface ReplayBarProps extends ReplayProps {
  readonly events: readonly StreamEvent[];
}

function ReplayBar({ script, events, onShow }: ReplayBarProps) {
  const frames = useMemo(() => replayFrames(events, script), [events, script]);
  const replay = useMemo(() => new Replay(events, script.callId), [events, script.callId]);
  const totalMs = frames.at(-1)?.atMs ?? 0;
  const [atMs, setAt] = useState(0);
  const [isPlaying, setPlaying] = useState(true);
  const [speed, setSpeed] = useState<(typeof SPEEDS)[number]['id']>('1');
  const show = useRef(onShow);
  show.current = onShow;
  const index = frameAt(frames, atMs);
  useEffect(() => {
    const frame = frames[index];
    if (frame === undefined) return;
    const { script: then, at } = replay.after(frame.events);
    show.current(then, at);
  }, [frames, index, replay]);
  useEffect(() => {
    if (!isPlaying) return undefined;
    const timer = setInterval(() => setAt((before) => Math.min(before + TICK_MS * Number(speed), totalMs)), TICK_MS);
    return () => clearInterval(timer);
  }, [isPlaying, speed, totalMs]);
  const isAtEnd = atMs >= totalMs;
  const toggle = () => {
    if (isAtEnd) setAt(0);
    setPlaying(isAtEnd || !isPlaying);
  };
  return (
    <div className="replay" role="group" aria-label="Replay">
      <IconButton
        icon={isPlaying && !isAtEnd ? 'pause' : 'play'}
        label={isPlaying && !isAtEnd ? 'Pause' : 'Play'}
        onClick={toggle}
      />
      <input
        type="range"
        min={0}
        max={Math.max(totalMs, 1)}
        value={atMs}
        aria-label="Position in the replay"
        aria-valuetext={`event ${index + 1} of ${frames.length}`}
        onChange={(event) => {
          setPlaying(false);
          setAt(Number(event.target.value));
        }}
      />
      <span className="dim replay-time">
        {duration(atMs)} / {duration(totalMs)}
      </span>
      <Tabs label="Speed" tabs={SPEEDS} current={speed} onSelect={setSpeed} />
    </div>
  );
}
