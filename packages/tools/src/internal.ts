/** For the packages of Toolscript: requests to addresses that a stranger names, git, and environments of child processes. Not part of the public API. */
export { childEnvironment } from './exec/environment.js';
export { gitState, type GitState } from './exec/git-state.js';
export { ACCEPTED_CODINGS, readBody } from './web/body.js';
export { AddressGuard } from './web/guard.js';
export { WEB_LIMITS } from './web/limits.js';
export { sendRequest } from './web/request.js';
