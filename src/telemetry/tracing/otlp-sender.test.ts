import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  A_HEADER,
  frame,
  GRPC_HEADERS,
  type RawHttp2Server,
  startRawHttp2Server,
} from '../../../test/support/servers/raw-http2-server.ts';
import { messageOf } from '../../framework/error.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { otlpSender } from './otlp-sender.ts';
import { planTracing } from './tracing-plan.ts';

let server: RawHttp2Server | undefined;
let collector: Server | undefined;
afterEach(() => {
  server?.stop();
  collector?.close();
});

/** Sends one batch by HTTP to a collector that answers with these bytes again and again. */
async function sendToFlood(head: string, again: string) {
  let connection: Socket | undefined;
  const pour = (socket: Socket): void => {
    while (!socket.destroyed && socket.write(again));
  };
  collector = createServer((socket) => {
    connection = socket;
    socket.on('error', () => undefined).on('drain', () => setImmediate(pour, socket));
    socket.once('data', () => socket.write(head) && pour(socket));
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const { port } = collector.address() as AddressInfo;
  const plan = planTracing({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
  });
  if (plan === undefined) throw new Error('traces are off');
  const sender = await otlpSender(plan, new SimulatedClock());
  return { sent: sender.send(Buffer.alloc(10)), bytes: () => connection?.bytesWritten ?? 0 };
}

/** Why a batch cannot be sent with this environment. */
async function refusal(environment: Readonly<Record<string, string>>): Promise<string> {
  const plan = planTracing(environment);
  if (plan === undefined) throw new Error('traces are off');
  const sender = await otlpSender(plan, new SimulatedClock());
  try {
    return await sender.send(Buffer.alloc(10)).then(() => 'sent', messageOf);
  } finally {
    await sender.stop();
  }
}

const BY_HTTP = { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' };

async function startHttpCollector(): Promise<string> {
  collector = createHttpServer((request, response) => {
    request.resume();
    response.writeHead(request.url === '/v1/traces' ? 200 : 404).end();
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  return `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
}

describe('what the log says of a collector that does not take traces', () => {
  it('[O386] names the protocol to set where the port is that of the other one', async () => {
    const http = await startHttpCollector();
    expect(await refusal({ OTEL_EXPORTER_OTLP_ENDPOINT: http })).toBe(
      `the server answers in HTTP/1, but gRPC needs HTTP/2; ${http} may take OTLP by http/protobuf, whose usual port is 4318: set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf`,
    );
    server = await startRawHttp2Server(() => undefined);
    const grpc = `http://127.0.0.1:${server.port}`;
    expect(await refusal({ OTEL_EXPORTER_OTLP_ENDPOINT: grpc, ...BY_HTTP })).toMatch(
      /whose usual port is 4317: set OTEL_EXPORTER_OTLP_PROTOCOL=grpc$/,
    );
  });

  it('[O386] has address and status where the collector refuses, and the usual path', async () => {
    const http = await startHttpCollector();
    expect(await refusal({ OTEL_EXPORTER_OTLP_ENDPOINT: http, ...BY_HTTP })).toBe('sent');
    expect(await refusal({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: http, ...BY_HTTP })).toBe(
      `${http} answered 404 Not Found; most collectors take traces at /v1/traces`,
    );
  });

  it('[O356] has the reason in the words of the system alone where no connection can be made', async () => {
    const http = await startHttpCollector();
    collector?.close();
    const said = await refusal({ OTEL_EXPORTER_OTLP_ENDPOINT: http });
    expect(said).toBe(`connect ECONNREFUSED ${http.replace('http://', '')}`);
  });
});

describe('a collector of traces', () => {
  it('[V454] that sends headers without an end by gRPC loses its connection before Node reads them', async () => {
    const more = Array.from({ length: 9 }, () => frame(9, 0, 1, A_HEADER));
    const answer = Buffer.concat([frame(1, 0, 1, GRPC_HEADERS), ...more]);
    server = await startRawHttp2Server((socket) => void socket.write(answer));
    const plan = planTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${server.port}` });
    if (plan === undefined) throw new Error('traces are off');
    const sender = await otlpSender(plan, new SimulatedClock());
    await expect(sender.send(Buffer.alloc(0))).rejects.toThrow('headers of over 9 frames');
    await sender.stop();
  });

  it('[V459] that answers by HTTP without an end is read for 64 KiB', async () => {
    const { sent } = await sendToFlood('', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(2000));
    await expect(sent).rejects.toThrow('more than 65536 bytes for one answer');
  });

  it('[V459] that answers in chunks of a byte each takes no memory by their number', async () => {
    const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
    const { sent, bytes } = await sendToFlood(head, '1\r\nx\r\n'.repeat(10_000));
    await sent.catch(() => undefined);
    // What the system keeps of a connection is some megabytes; 4 MiB of body would be 24.
    expect(bytes()).toBeLessThan(16 * 1024 * 1024);
  });
});
