/**
 * The states of a script's session:
 *
 * - `waiting`: the script waits for a sandbox;
 * - `replaying`: the guest runs along the tape of an earlier process;
 * - `running`: the guest executes, and nothing may be delivered to it;
 * - `starting`: the turn is over, and its calls are started; many calls start over several turns of the event loop;
 * - `idle`: the guest waits for settlements, which are collected and delivered together;
 * - `suspending`: the guest's memory is captured;
 * - `finishing`: the script has ended, and its remaining calls are aborted;
 * - `done`: the outcome is known.
 */
export type SessionState =
  | 'waiting'
  | 'replaying'
  | 'running'
  | 'starting'
  | 'idle'
  | 'suspending'
  | 'finishing'
  | 'done';

export type StateEvent =
  /** A sandbox is free: for the script's start, for a replay, or with the memory of a suspended script. */
  | 'start'
  | 'start_replay'
  | 'restore'
  /** The memory cannot be restored: the script starts again, along its tape. */
  | 'restart'
  /** The tape is at its end, and the guest has the recorded state. */
  | 'replayed'
  /** The guest's turn is over. This event also occurs if the runtime ends a waiting guest. */
  | 'turn_ended'
  | 'calls_started'
  | 'deliver'
  | 'suspend'
  | 'captured'
  | 'end'
  | 'calls_ended';

const TRANSITIONS: Readonly<Record<SessionState, Readonly<Partial<Record<StateEvent, SessionState>>>>> = {
  waiting: {
    start: 'running',
    start_replay: 'replaying',
    restore: 'idle',
    restart: 'waiting',
    turn_ended: 'starting',
    end: 'finishing',
  },
  replaying: { replayed: 'idle', turn_ended: 'starting', end: 'finishing' },
  running: { turn_ended: 'starting', end: 'finishing' },
  starting: { turn_ended: 'starting', calls_started: 'idle', end: 'finishing' },
  idle: { deliver: 'running', suspend: 'suspending', restart: 'waiting', turn_ended: 'starting', end: 'finishing' },
  suspending: { captured: 'done', turn_ended: 'starting', end: 'finishing' },
  finishing: { calls_ended: 'done' },
  done: {},
};

/** Returns the next state; undefined if the event comes too late or too early for this state and is ignored. */
export function nextState(state: SessionState, event: StateEvent): SessionState | undefined {
  return TRANSITIONS[state][event];
}
