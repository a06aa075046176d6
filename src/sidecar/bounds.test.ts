import { once } from 'node:events';
import {
  type ClientRequest,
  createServer as createHttpServer,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { sidecarBed } from '../../test/support/sidecar/sidecar-bed.ts';
import {
  complete,
  metric,
  openRequests,
  outcomes,
  prefilledAt,
  type Sent,
} from '../../test/support/sidecar/sidecar-client.ts';
import { SIDECAR_BOUNDS } from './options/sidecar-options.ts';
import type { Sidecar } from './start-sidecar.ts';

/** A client that leaves ends its requests; what it sends, or does not read, has a limit. */

const KV = { do_remote_prefill: true, remote_host: '10.0.0.9', remote_port: 5600 };

const bed = sidecarBed();
const { logged, stops } = bed;
const started = bed.started.bind(bed);

const apart = (): Pick<Sent, 'headers'> => prefilledAt(bed.prefiller);

const { uploadTimeoutMs, clientIdleTimeoutMs } = SIDECAR_BOUNDS;

describe('a client that leaves', () => {
  async function left(sidecar: Sidecar, during: () => Promise<{ closed: Promise<void> }>) {
    const leaving = new AbortController();
    const answer = complete(sidecar, { ...apart(), signal: leaving.signal });
    answer.catch(() => undefined);
    const visit = await during();
    leaving.abort();
    await visit.closed;
    await expect(answer).rejects.toThrow();
    await eventually(
      () => openRequests(sidecar),
      (count) => count === 0,
    );
    expect(await outcomes(sidecar, 'client-gone')).toBe(1);
    expect(sidecar.counts.fellBack).toBe(0);
    expect(logged).toEqual([]);
  }

  it('[V61] takes the prefill with it, and the engine is not asked', async () => {
    const sidecar = await started();
    await left(sidecar, () => bed.prefiller.next());
    expect(bed.engine.visits).toBe(0);
  });

  it('[V61] takes the generation with it before the engine’s headers', async () => {
    const sidecar = await started();
    await left(sidecar, async () => {
      (await bed.prefiller.next()).response.end(JSON.stringify({ kv_transfer_params: KV }));
      return bed.engine.next();
    });
  });

  it('[V61] takes the generation with it within the answer', async () => {
    const sidecar = await started();
    const leaving = new AbortController();
    const answer = complete(sidecar, { signal: leaving.signal });
    const visit = await bed.engine.next();
    visit.response.write('data: 1\n\n');
    await answer;
    leaving.abort();
    await visit.closed;
  });

  it('[V61] and one that leaves within its upload causes no request', async () => {
    const sidecar = await started();
    const upload = startUpload(sidecar, 100);
    upload.on('error', () => undefined);
    upload.write('{');
    await eventually(
      () => openRequests(sidecar),
      (count) => count === 1,
    );
    upload.destroy();
    await eventually(
      () => openRequests(sidecar),
      (count) => count === 0,
    );
    expect(bed.engine.visits).toBe(0);
    expect(await metric(sidecar, 'pointsman_sidecar_buffered_bytes')).toBe(0);
  });
});

/** An upload that announces so many bytes. */
function startUpload(sidecar: Sidecar, bytes: number): ClientRequest {
  const headers = { 'content-type': 'application/json', 'content-length': bytes };
  const url = `http://${sidecar.address}/v1/completions`;
  const upload = httpRequest(url, { method: 'POST', headers, agent: false });
  upload.flushHeaders();
  return upload;
}

async function statusOf(upload: ClientRequest): Promise<number | undefined> {
  const [response] = (await once(upload, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

describe('bounds', () => {
  it('[V66] refuses a body that is too long with 413, also without an announced length', async () => {
    const sidecar = await started({ bounds: { bodyBytesMax: 1000 } });
    expect(await statusOf(startUpload(sidecar, 1001))).toBe(413);
    const url = `http://${sidecar.address}/v1/completions`;
    const upload = httpRequest(url, { method: 'POST', agent: false });
    upload.write('x'.repeat(1001));
    expect(await statusOf(upload)).toBe(413);
    expect(bed.engine.visits).toBe(0);
  });

  it('[V66] refuses the newest upload with 503 when all together hold too much', async () => {
    const sidecar = await started({ bounds: { bufferedBytesMax: 1000 } });
    const held = startUpload(sidecar, 900);
    held.write(`{"prompt":"${'x'.repeat(600)}`);
    const buffered = (): Promise<number> => metric(sidecar, 'pointsman_sidecar_buffered_bytes');
    await eventually(buffered, (bytes) => bytes > 600);
    const newest = startUpload(sidecar, 900);
    newest.write('x'.repeat(600));
    expect(await statusOf(newest)).toBe(503);
    held.destroy();
    held.on('error', () => undefined);
    await eventually(buffered, (bytes) => bytes === 0);
  });

  it('[V66] holds no body while the engine answers', async () => {
    const sidecar = await started();
    const answer = complete(sidecar);
    const visit = await bed.engine.next();
    visit.response.write('1');
    await answer;
    await eventually(
      () => metric(sidecar, 'pointsman_sidecar_buffered_bytes'),
      (bytes) => bytes === 0,
    );
  });

  it('[V66] gives the memory of a body back while the engine answers', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    // Keeps nothing of a request.
    const forgetful = createHttpServer((request, response) => {
      request.resume().on('end', () => void response.write('1'));
    });
    await new Promise<void>((resolve) => void forgetful.listen(0, '127.0.0.1', resolve));
    stops.push(async () => {
      forgetful.closeAllConnections();
      forgetful.close();
    });
    const { port } = forgetful.address() as AddressInfo;
    const sidecar = await started({ engine: `127.0.0.1:${port}` });
    const body = Buffer.from(JSON.stringify({ prompt: 'x'.repeat(1_000_000) }));
    collect();
    const before = process.memoryUsage().arrayBuffers;
    for (let count = 0; count < 40; count++) {
      const upload = startUpload(sidecar, body.length).end(body);
      await once(upload, 'response');
    }
    const held = (): number => {
      collect();
      return process.memoryUsage().arrayBuffers - before;
    };
    await eventually(held, (bytes) => bytes < 10_000_000);
    expect(await openRequests(sidecar)).toBe(40);
  });

  it('[V433] holds an upload in chunks of a byte in memory by its bytes', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const used = (): number => {
      collect();
      return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
    };
    const sidecar = await started();
    const [host = '', port = ''] = sidecar.address.split(':');
    const socket = connect(Number(port), host);
    stops.push(async () => void socket.destroy());
    socket.write('POST /v1/completions HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n');
    const before = used();
    socket.write('1\r\n \r\n'.repeat(300_000));
    const buffered = (): Promise<number> => {
      bed.clock.advanceTo(bed.clock.now() + 20);
      return metric(sidecar, 'pointsman_sidecar_buffered_bytes');
    };
    await eventually(buffered, (bytes) => bytes === 300_000);
    expect(used() - before).toBeLessThan(10_000_000);
  });

  it('[V66] refuses one open request too many with 503 and serves the others', async () => {
    const sidecar = await started({ bounds: { requestsMax: 1 } });
    const first = complete(sidecar);
    const visit = await bed.engine.next();
    const refused = await complete(sidecar);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    visit.response.end('{}');
    expect((await first).status).toBe(200);
  });

  it.each([
    ['that stands still', clientIdleTimeoutMs, 1],
    ['that trickles', uploadTimeoutMs, Math.ceil(uploadTimeoutMs / (clientIdleTimeoutMs / 2))],
  ])('[V66] refuses an upload %s with 408', async (_, limitMs, steps) => {
    const sidecar = await started();
    const upload = startUpload(sidecar, 1000);
    const status = statusOf(upload);
    const buffered = (): Promise<number> => metric(sidecar, 'pointsman_sidecar_buffered_bytes');
    upload.write('{');
    await eventually(buffered, (bytes) => bytes === 1);
    for (let step = 1; step <= steps; step++) {
      bed.clock.advanceTo((step * limitMs) / steps);
      if (step === steps) break;
      upload.write(' ');
      await eventually(buffered, (bytes) => bytes === step + 1);
    }
    expect(await status).toBe(408);
    upload.destroy();
  });

  it('[V66] cuts an answer that its client does not read', async () => {
    const sidecar = await started({ bounds: { idleTimeoutMs: 0, firstByteTimeoutMs: 0 } });
    const [host = '', port = ''] = sidecar.address.split(':');
    const socket = connect(Number(port), host);
    socket.on('error', () => undefined);
    socket.pause();
    socket.write('GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n');
    const { response, closed } = await bed.engine.next();
    const chunk = Buffer.alloc(64 * 1024);
    const fill = (): void => {
      while (!response.destroyed && response.write(chunk)) continue;
    };
    response.on('drain', fill);
    fill();
    // The limit only passes once the buffers on the way are full.
    await eventually(
      () => {
        bed.clock.advanceTo(bed.clock.now() + clientIdleTimeoutMs);
        return openRequests(sidecar);
      },
      (count) => count === 0,
    );
    await closed;
    socket.destroy();
  });

  it('[V66] refuses headers over 64 KiB with 431', async () => {
    const sidecar = await started();
    const headers = { 'x-long': 'x'.repeat(70_000) };
    expect((await complete(sidecar, { headers })).status).toBe(431);
  });
});
