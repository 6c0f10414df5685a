export {
  ApiKeyDraftSchema,
  ApiKeySchema,
  entryPrincipal,
  SCOPES,
  type Actor,
  type ApiKey,
  type ApiKeyDraft,
  type ApiKeyStore,
  type AuditFilter,
  type AuditPage,
  type AuditQuery,
  type AuditTable,
  type DecisionEntry,
  type KeyEntry,
  type RequestEntry,
  type RequestStamp,
  type Scope,
  type ServiceAuditEntry,
  type UndoEntry,
} from '@toolscript/service/stores';
export { isLoopback } from './addresses.js';
export { callerOfToken, textDigest, isActive, makeApiKey } from './api-keys.js';
export { AuditFile } from './audit-file.js';
export { keyFacts, localEntry, memoryAudit, undoFacts, type AuditStore } from './audit-log.js';
export { hasScope, type Caller } from './caller.js';
export { joinKeys } from './joined-keys.js';
export { KeyFolder } from './key-folder.js';
export { SharedAudit } from './shared-audit.js';
export { accessLimits, type AccessLimits } from './limits.js';
export type { RememberedRule, RememberedRules, SuggestedRule } from './remembered-rules.js';
export type { ConnectedProvider, ModelConnections } from './model-connections.js';
export { KnownOrigins, type OriginOptions } from './origins.js';
export type { ScriptUndo, UndoDirection, UndoReport, UndoRequest } from './script-undo.js';
