export { fileStore, type FileStoreOptions } from './file-store.js';
export {
  checkHeapBytes,
  checkHeapDraft,
  checkHeapId,
  checkHeapInheritance,
  heapBytes,
  heapNotFound,
} from './heap-rules.js';
export { MemoryHeaps } from './memory-heaps.js';
export { demandHash, packImage, unpackImage } from './image-bytes.js';
export { checkJournalLines } from './journal-text.js';
export { memoryStore, type MemoryStoreOptions } from './memory-store.js';
export { checkScriptId, checkSha256 } from './names.js';
