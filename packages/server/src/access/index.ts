export { isLoopback } from './addresses.js';
export {
  ApiKeyDraftSchema,
  ApiKeySchema,
  callerOfToken,
  digestOf,
  isActive,
  makeApiKey,
  type ApiKey,
  type ApiKeyDraft,
  type ApiKeyStore,
} from './api-keys.js';
export { AuditFile } from './audit-file.js';
export {
  keyEntry,
  memoryAudit,
  principalOf,
  undoEntry,
  type AuditFilter,
  type AuditPage,
  type AuditQuery,
  type AuditStore,
  type DecisionEntry,
  type KeyEntry,
  type ServiceAuditEntry,
  type UndoEntry,
} from './audit-log.js';
export { hasScope, SCOPES, type Caller, type Scope } from './caller.js';
export { joinKeys } from './joined-keys.js';
export { KeyFolder } from './key-folder.js';
export { SharedAudit, type AuditTable } from './shared-audit.js';
export { accessLimits, type AccessLimits } from './limits.js';
export type { RememberedRule, RememberedRules, SuggestedRule } from './remembered-rules.js';
export { KnownOrigins, type OriginOptions } from './origins.js';
export type { ScriptUndo, UndoDirection, UndoReport, UndoRequest } from './script-undo.js';
