export { withFileLock } from './file-lock.js';
export { obtainKeyFile, readKeyFile } from './key-file.js';
export { createPrivateFile, readPrivateFile, writePrivateFile } from './private-file.js';
export { PrivateJsonFile } from './private-json-file.js';
export { isAlive, isHeld, isOfThisBoot, ownIdentity, parseIdentity, type ProcessIdentity } from './process-identity.js';
