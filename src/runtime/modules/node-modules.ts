import type * as NodeTls from 'node:tls';
import type * as NodeZlib from 'node:zlib';

/*
 * Modules of Node that are loaded at their first use. An `import` loads them at the start, and reads
 * all their exports: of `node:tls` also the certificates of all authorities that Node knows.
 */

export function loadTls(): typeof NodeTls {
  return process.getBuiltinModule('node:tls');
}

export function loadZlib(): typeof NodeZlib {
  return process.getBuiltinModule('node:zlib');
}
