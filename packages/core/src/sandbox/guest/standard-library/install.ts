// Installs the standard library: the globals of ordinary JavaScript that the engine does not have itself.
//
// The guest installs the library once, in a realm that has only the language's own intrinsics. Afterwards,
// `lockdown.ts` freezes every intrinsic and everything reachable from the global object, so scripts cannot change the
// library.
import { Symbol } from '../primordials.js';
import { Buffer } from './buffer.js';
import { defineMembers, nameMembers, tag } from './define.js';
import { Headers } from './headers.js';
import { installLocaleMethods, makeIntl } from './intl/intl.js';
import { structuredClone } from './structured-clone.js';
import { TextDecoder, TextEncoder } from './text-encoding.js';
import { URLSearchParams } from './url/search-params.js';
import { URL } from './url/url.js';

export default function installStandardLibrary(): void {
  defineMembers(URLSearchParams.prototype, { [Symbol.iterator]: URLSearchParams.prototype.entries });
  defineMembers(Headers.prototype, { [Symbol.iterator]: Headers.prototype.entries });
  tag(Headers.prototype, 'Headers');
  tag(TextEncoder.prototype, 'TextEncoder');
  tag(TextDecoder.prototype, 'TextDecoder');
  tag(URL.prototype, 'URL');
  tag(URLSearchParams.prototype, 'URLSearchParams');
  installLocaleMethods();
  defineMembers(
    globalThis,
    nameMembers({ Buffer, Headers, TextEncoder, TextDecoder, URL, URLSearchParams, structuredClone }),
  );
  defineMembers(globalThis, { Intl: makeIntl() });
}
