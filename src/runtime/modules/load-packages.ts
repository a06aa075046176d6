import { createRequire } from 'node:module';
import type * as Grpc from '@grpc/grpc-js';
import type * as ProtoLoader from '@grpc/proto-loader';
import type * as MessagePack from '@msgpack/msgpack';
import type * as Salsa from '@noble/ciphers/salsa.js';
import type { buildConnector, Client } from 'undici';

/**
 * Packages that few configurations need, loaded when they are first asked for: together they are a
 * third of the start, and 40 MB.
 */
const load = createRequire(import.meta.url);

/** The gRPC library; the first call loads it. */
export function loadGrpc(): typeof Grpc {
  return load('@grpc/grpc-js') as typeof Grpc;
}

/** The reader of .proto files; the first call loads it. */
export function loadProtoLoader(): typeof ProtoLoader {
  return load('@grpc/proto-loader') as typeof ProtoLoader;
}

/** The reader of MessagePack: few pickers read KV events. */
export function loadMsgpack(): typeof MessagePack {
  return load('@msgpack/msgpack') as typeof MessagePack;
}

/** The ciphers of CURVE. */
export function loadSalsa(): typeof Salsa {
  return load('@noble/ciphers/salsa.js') as typeof Salsa;
}

/**
 * The two parts of undici that requests to one server need. They are loaded by their files, because
 * the whole, with `fetch` and WebSockets, would hold up a serving picker for 0.1 s. The package
 * does not promise these files; its version is exact.
 */
export function loadUndici(): {
  readonly Client: typeof Client;
  readonly buildConnector: typeof buildConnector;
} {
  return {
    Client: load('undici/lib/dispatcher/client.js') as typeof Client,
    buildConnector: load('undici/lib/core/connect.js') as typeof buildConnector,
  };
}
