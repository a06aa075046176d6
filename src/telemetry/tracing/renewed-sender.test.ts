import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { eventually } from '../../../bench/support/stack.ts';
import { issue, newAuthority } from '../../../test/support/servers/certificates.ts';
import type { Certificate } from '../../extproc/server/port/tls-credentials.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { otlpSender } from './otlp-sender.ts';
import { planTracing } from './tracing-plan.ts';

let folder: string;
let collector: Http2SecureServer | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pointsman-otlp-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  collector?.close();
  collector = undefined;
  rmSync(folder, { recursive: true });
});

/** A collector by HTTPS and gRPC that takes everything. */
async function startCollector(pair: Certificate): Promise<number> {
  const server = createSecureServer({ ...pair, allowHTTP1: true }, (request, response) => {
    request.resume();
    if (request.httpVersionMajor > 1) {
      response.setHeader('content-type', 'application/grpc');
      response.addTrailers({ 'grpc-status': '0' });
      response.write(Buffer.alloc(5));
    }
    response.end();
  });
  collector = server;
  server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

describe.each(['grpc', 'http/protobuf'])('a collector of traces by %s', (protocol) => {
  it('[V461] is trusted by the authorities in the file after a batch that failed', async () => {
    const [former, newer] = [await newAuthority('former'), await newAuthority('newer')];
    const path = join(folder, 'ca.pem');
    vi.stubEnv('OTEL_EXPORTER_OTLP_CERTIFICATE', path);
    vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '1000');
    writeFileSync(path, former.cert);
    const port = await startCollector(await issue(newer, 'localhost'));
    const plan = planTracing({
      OTEL_EXPORTER_OTLP_ENDPOINT: `https://localhost:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    });
    if (plan === undefined) throw new Error('traces are off');
    const sender = await otlpSender(plan, new SimulatedClock());
    await expect(sender.send(Buffer.alloc(0))).rejects.toThrow();
    writeFileSync(path, newer.cert);
    await sender.send(Buffer.alloc(0));
    await sender.stop();
  });
});

it('[V461] a collector of traces that refuses every batch has one connection at most', async () => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(400).end());
  }).listen(0, '127.0.0.1');
  server.keepAliveTimeout = 0;
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const plan = planTracing({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
  });
  if (plan === undefined) throw new Error('traces are off');
  const sender = await otlpSender(plan, new SimulatedClock());
  for (let batch = 0; batch < 5; batch++) {
    await expect(sender.send(Buffer.alloc(0))).rejects.toThrow();
  }
  const open = promisify(server.getConnections.bind(server));
  await eventually(open, (count) => count <= 1, 200);
  await sender.stop();
  server.closeAllConnections();
  server.close();
});
