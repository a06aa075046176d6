import { Client, credentials } from '@grpc/grpc-js';
import { service as healthService } from 'grpc-health-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  answers,
  body,
  ExtProcServerBed,
  HEADERS,
} from '../../../test/support/grpc/ext-proc-server-bed.ts';

const bed = new ExtProcServerBed();
beforeEach(() => bed.begin());
afterEach(() => bed.end());

function health(port: number, name: string): Promise<string> {
  const checker = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const { Check } = healthService;
  if (Check === undefined) throw new Error('the health service has no Check');
  return new Promise((resolve, reject) => {
    checker.makeUnaryRequest(
      Check.path,
      Check.requestSerialize,
      Check.responseDeserialize,
      { service: name },
      (error, answer) => {
        checker.close();
        if (error) reject(error);
        else resolve(String((answer as { status: string }).status));
      },
    );
  });
}

const PROMPT = Buffer.from('{"model":"m","prompt":"hello"}');

describe('the health and the end of the ext_proc server', () => {
  it('[P29] reports its health by every name that is asked for, on both ports', async () => {
    const server = await bed.start({ healthPort: 0 });
    for (const port of [server.port, server.healthPort ?? 0]) {
      for (const name of [
        '',
        'envoy.service.ext_proc.v3.ExternalProcessor',
        'inference-extension',
        'liveness',
        'readiness',
        'a-name-of-a-probe',
      ]) {
        expect(await health(port, name)).toBe('SERVING');
      }
    }
    server.setServing(false);
    expect(await health(server.port, '')).toBe('NOT_SERVING');
    expect(await health(server.port, 'a-name-of-a-probe')).toBe('NOT_SERVING');
    expect(await health(server.port, 'liveness')).toBe('SERVING');
  });

  it('[P29] drains: not serving at once, streams in flight finish', async () => {
    const server = await bed.start({ healthPort: 0 });
    const stream = bed.client(server.port).Process();
    stream.write(HEADERS);
    const got = answers(stream, 2);
    while (server.sessions() === 0) await new Promise((resolve) => setImmediate(resolve));
    const drained = server.drain({ noticeMs: 0, deadlineMs: 10_000 });
    expect(await health(server.healthPort ?? 0, '')).toBe('NOT_SERVING');
    stream.write(body(PROMPT));
    expect(await got).toHaveLength(2);
    stream.end();
    await drained;
    expect(bed.held()).toBe(0);
  });

  it('[P29] drains without waiting for clients that only watch its health', async () => {
    const server = await bed.start();
    const watcher = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure());
    const { Watch } = healthService;
    if (Watch === undefined) throw new Error('the health service has no Watch');
    const statuses: string[] = [];
    const watch = watcher.makeServerStreamRequest(
      Watch.path,
      Watch.requestSerialize,
      Watch.responseDeserialize,
      { service: '' },
    );
    const cut = new Promise((resolve) => watch.once('error', resolve));
    const first = new Promise((resolve) => watch.once('data', resolve));
    watch.on('data', (answer: { readonly status: string }) => statuses.push(answer.status));
    await first;
    await server.drain({ noticeMs: 0, deadlineMs: 20_000 });
    await cut;
    watcher.close();
    expect(statuses).toEqual(['SERVING', 'NOT_SERVING']);
  });

  it('[P29] cuts what is still open when the deadline of a drain has passed', async () => {
    const server = await bed.start();
    const stream = bed.client(server.port).Process();
    const cut = new Promise((resolve) => stream.once('error', resolve));
    stream.write(HEADERS);
    stream.write(body(PROMPT));
    await answers(stream, 2);
    expect(bed.held()).toBe(1);
    await server.drain({ noticeMs: 0, deadlineMs: 0 });
    await cut;
    while (server.sessions() > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(bed.held()).toBe(0);
  });
});
