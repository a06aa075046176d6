import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { join } from 'node:path';
import { loadSync } from '@grpc/proto-loader';

/** ext_proc without a gRPC client, for peers that do what no client does. */

const SERVICE = 'envoy.service.ext_proc.v3.ExternalProcessor';

const definition = loadSync('envoy/service/ext_proc/v3/external_processor.proto', {
  includeDirs: [join(import.meta.dirname, '..', '..', 'proto')],
  keepCase: true,
})[SERVICE];

/** A message of the proxy as bytes, with the head of its gRPC frame. */
export function frameOf(message: object): Buffer {
  if (definition === undefined || 'format' in definition) throw new Error('no service');
  const bytes = definition['Process']?.requestSerialize(message) ?? Buffer.alloc(0);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** An ext_proc stream. Its answers are taken only when the caller reads. */
export function openRawStream(
  session: ClientHttp2Session,
  headers: Readonly<Record<string, string>> = {},
): ClientHttp2Stream {
  const stream = session.request({
    ':method': 'POST',
    ':path': `/${SERVICE}/Process`,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  stream.on('error', () => undefined);
  return stream;
}
