export { fileStore, type FileStoreOptions } from './file-store.js';
export { memoryStore, type MemoryStoreOptions } from './memory-store.js';
