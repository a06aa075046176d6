import type * as NodeHttp from 'node:http';
import type * as NodeHttps from 'node:https';

/**
 * `node:http`. An `import` of it reads all its exports, `WebSocket` among them, for which Node 24
 * loads a copy of undici: 50 ms of CPU and 14 MB of memory that nothing here needs.
 */
export const http: typeof NodeHttp = process.getBuiltinModule('node:http');

/** `node:https`, which few ports need: with TLS it is 7 MB. */
export function loadHttps(): typeof NodeHttps {
  return process.getBuiltinModule('node:https');
}
