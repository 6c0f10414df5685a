export { fileStore, type FileStoreOptions } from './file-store.js';
export { withFileLock } from './file-lock.js';
export { writePrivateFile } from './private-file.js';
export { obtainKeyFile, readKeyFile, type KeyFileOptions } from './key-file.js';
export { memoryStore, type MemoryStoreOptions } from './memory-store.js';
export type { MemoryStoresOptions } from './memory-database.js';
export { memoryEventLog } from './memory-event-log.js';
export { memoryStores, type MemoryStores } from './memory-stores.js';
export { isAlive, ownIdentity, parseIdentity, type ProcessIdentity } from './process-identity.js';
