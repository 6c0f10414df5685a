import type { LogEntry } from '../protocol/index.js';
import type { FacadeEvent } from '../tools/index.js';

/** The events that a running script's session reports to its harness. */
export type SessionEvent =
  | Exclude<FacadeEvent, { type: 'waiting_changed' | 'progress' | 'output' | 'call_noted' }>
  | { type: 'progress'; message: string; kind: 'info' | 'warn'; callId?: string }
  | { type: 'log'; entry: LogEntry }
  /** An event for the host's own log. */
  | { type: 'internal'; detail: string };
