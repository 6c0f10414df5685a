/** For the packages of Toolscript: requests to addresses that a stranger names. Not part of the public API. */
export { ACCEPTED_CODINGS, readBody } from './web/body.js';
export { AddressGuard } from './web/guard.js';
export { WEB_LIMITS } from './web/limits.js';
export { sendRequest } from './web/request.js';
