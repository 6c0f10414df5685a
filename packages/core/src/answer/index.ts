export { AnswerPlayer, type AnswerEnd } from './answer-player.js';
export { AnswerWork, putItem, callScriptId, scriptOfCall, type Waiting, type WorkSettings } from './answer-work.js';
export { providerFailure, type ProviderFailure } from './provider-stream.js';
export { EventStream, runIdentity, payloadSink, generateEvents } from './event-stream.js';
export type { AnswerRest, ScriptBlock, ScriptEnd, ScriptHost, Sealable } from './script-host.js';
export {
  assertAnswerText,
  emitRefusal,
  playRest,
  playText,
  type AnswerContext,
  type AnswerText,
  type ResumeFirst,
  type TextRunOptions,
} from './text-run.js';
