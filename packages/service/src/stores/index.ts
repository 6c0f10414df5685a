export { ChangeListener } from './change-board.js';
export { memoryDocuments, type MemoryDocuments, type MemoryDocumentsOptions } from './memory/memory-documents.js';
export type { MemoryStoresOptions } from './memory/memory-database.js';
export { memoryEventLog } from './memory/memory-event-log.js';
export { memoryStores, type MemoryStores } from './memory/memory-stores.js';
export { openDatabase, openEventLog, openStores, type OpenDatabase, type OpenStoresOptions } from './open-stores.js';
export {
  ApiKeyDraftSchema,
  ApiKeySchema,
  SCOPES,
  type ApiKey,
  type ApiKeyDraft,
  type ApiKeyStore,
  type Scope,
} from './ports/api-key-store.js';
export {
  entryPrincipal,
  type Actor,
  type AuditFilter,
  type AuditPage,
  type AuditQuery,
  type AuditTable,
  type DecisionEntry,
  type HashedEntry,
  type KeyEntry,
  type RequestEntry,
  type RequestStamp,
  type ServiceAuditEntry,
  type UndoEntry,
} from './ports/audit-table.js';
export type { DecisionSeal } from './sealed-decisions.js';
export { parseShape, readCursor, writeCursor } from './shapes.js';
export { isLeaseHeld } from './store-rules.js';
