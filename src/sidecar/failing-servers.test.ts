import { once } from 'node:events';
import { type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { sidecarBed } from '../../test/support/sidecar/sidecar-bed.ts';
import {
  ASKED,
  complete,
  metric,
  outcomes,
  prefilledAt,
  type Sent,
} from '../../test/support/sidecar/sidecar-client.ts';
import { SIDECAR_BOUNDS } from './options/sidecar-options.ts';

/** What a client gets where the engine, a prefilling server or an encoder fails. */

const bed = sidecarBed();
const { logged, stops } = bed;
const started = bed.started.bind(bed);

const apart = (): Pick<Sent, 'headers'> => prefilledAt(bed.prefiller);

const { prefillTimeoutMs, encodeTimeoutMs, firstByteTimeoutMs, idleTimeoutMs, connectTimeoutMs } =
  SIDECAR_BOUNDS;

describe('other servers that are silent', () => {
  it('[V60] computes a prompt here when the prefilling server does not answer in time', async () => {
    const sidecar = await started();
    const answer = complete(sidecar, apart());
    const visit = await bed.prefiller.next();
    bed.clock.advanceTo(prefillTimeoutMs);
    await visit.closed;
    const here = await bed.engine.next();
    expect(JSON.parse(here.body)).toEqual(ASKED);
    here.response.end('{}');
    expect((await answer).status).toBe(200);
    expect(sidecar.counts.fellBack).toBe(1);
    expect(logged).toEqual([
      `prefill at ${bed.prefiller.address} failed, computing here: did not answer within ${prefillTimeoutMs} ms`,
    ]);
    const line = 'pointsman_sidecar_stages_total{stage="prefill",outcome="timeout"}';
    expect(await metric(sidecar, line)).toBe(1);
  });

  it('[V60] does so, too, when the answer begins and does not end', async () => {
    const sidecar = await started();
    const answer = complete(sidecar, apart());
    (await bed.prefiller.next()).response.write('{"id":');
    // The headers are on their way while the clock jumps: the limit is for the whole.
    bed.clock.advanceTo(prefillTimeoutMs);
    (await bed.engine.next()).response.end('{}');
    expect((await answer).status).toBe(200);
  });

  it('[V60] encodes media here when an encoder does not answer in time', async () => {
    const sidecar = await started();
    const content = [{ type: 'image_url', image_url: { url: 'http://a/1.png' } }];
    const body = { model: 'm', messages: [{ role: 'user', content }] };
    const headers = { 'x-encoder-hosts-ports': bed.prefiller.address };
    const answer = complete(sidecar, { body, headers, path: '/v1/chat/completions' });
    await bed.prefiller.next();
    bed.clock.advanceTo(encodeTimeoutMs);
    (await bed.engine.next()).response.end('{}');
    expect((await answer).status).toBe(200);
    expect(sidecar.counts).toMatchObject({ encoded: 0, fellBack: 1 });
  });

  it('[V60] computes a prompt here when the connection does not come about', async () => {
    // Accepts the connection and answers no TLS handshake.
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const accepted = once(silent, 'connection');
    stops.push(async () => void silent.close());
    const sidecar = await started({ tls: { roles: ['prefiller'], unverified: [] } });
    const { port } = silent.address() as AddressInfo;
    const headers = { 'x-prefiller-host-port': `127.0.0.1:${port}` };
    const answer = complete(sidecar, { headers });
    await accepted;
    bed.clock.advanceTo(connectTimeoutMs);
    (await bed.engine.next()).response.end('{}');
    expect((await answer).status).toBe(200);
    expect(logged.join()).toContain(`no connection within ${connectTimeoutMs} ms`);
  });

  it('[V62] answers 504 when the engine sends no headers in time', async () => {
    const sidecar = await started();
    const answer = complete(sidecar);
    const visit = await bed.engine.next();
    bed.clock.advanceTo(firstByteTimeoutMs);
    await visit.closed;
    expect((await answer).status).toBe(504);
    expect(await outcomes(sidecar, 'engine-failed')).toBe(1);
  });

  it('[V62] answers 503 while the engine does not listen', async () => {
    const sidecar = await started();
    await bed.engine.stop();
    expect((await complete(sidecar)).status).toBe(503);
  });

  it.each([
    ['/v1/completions', { message: 'M', type: 'ServiceUnavailable', param: null, code: 503 }],
    ['/v1/messages', { message: 'M', type: 'overloaded_error' }],
  ])('[B216] answers clients of %s with an error in the form of their API', async (path, error) => {
    const sidecar = await started();
    await bed.engine.stop();
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
    const answer = await fetch(`http://${sidecar.address}${path}`, init);
    const body = (await answer.json()) as { type?: string; error: { message: string } };
    expect(body.error.message).toContain(bed.engine.address);
    expect({ ...body, error: { ...body.error, message: 'M' } }).toEqual(
      path === '/v1/messages' ? { type: 'error', error } : { error },
    );
  });

  it.each([
    ['breaks off', (): void => undefined],
    ['falls silent', (): void => bed.clock.advanceTo(bed.clock.now() + idleTimeoutMs)],
  ])('[V62] ends an answer with an error when the engine %s', async (what, silence) => {
    const sidecar = await started();
    const answer = complete(sidecar);
    const visit = await bed.engine.next();
    visit.response.write('data: 1\n\n');
    const reader = (await answer).body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('data: 1\n\n');
    if (what === 'breaks off') visit.response.destroy();
    silence();
    await expect(reader?.read()).rejects.toThrow();
    await visit.closed;
    expect(await outcomes(sidecar, 'engine-failed')).toBe(1);
  });

  it('[V62] resets the connection of a client that knows no chunks', async () => {
    const sidecar = await started();
    const [host = '', port = ''] = sidecar.address.split(':');
    const socket = connect(Number(port), host);
    socket.write('GET /v1/models HTTP/1.0\r\n\r\n');
    const visit = await bed.engine.next();
    visit.response.write('half');
    await once(socket, 'data');
    visit.response.destroy();
    const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNRESET');
  });

  it('does not count the time in which the client reads', async () => {
    const sidecar = await started();
    const answer = complete(sidecar);
    const visit = await bed.engine.next();
    visit.response.write('1');
    const response = await answer;
    bed.clock.advanceTo(idleTimeoutMs - 1);
    visit.response.write('2');
    await eventually(
      () => metric(sidecar, 'pointsman_sidecar_open_requests'),
      (count) => count === 1,
    );
    visit.response.end('3');
    expect(await response.text()).toBe('123');
  });
});

describe('answers before the answer', () => {
  it('[V443] [V572] pass where they are few, and end the connection where they are a flood', async () => {
    const sidecar = await started();
    const answers = async (interim: string): Promise<readonly [number, string]> => {
      const answer = complete(sidecar);
      const { response, closed } = await bed.engine.next();
      response.socket?.write(interim);
      response.socket?.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
      const { status, text } = await answer.then(async (each) => ({
        status: each.status,
        text: await each.text(),
      }));
      if (status === 502) await closed;
      response.destroy();
      return [status, text];
    };
    const hint = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';
    expect(await answers(hint.repeat(16))).toEqual([200, '{}']);
    const reason = /failed: sent more than 16 interim answers/;
    expect(await answers(hint.repeat(17))).toEqual([502, expect.stringMatching(reason)]);
    expect(await answers('HTTP/1.1 099 X\r\ncontent-length: 0\r\n\r\n')).toEqual([
      502,
      expect.stringMatching(/failed: answered the status 99, which is none/),
    ]);
    expect(await answers('HTTP/1.1 100 Continue\r\n\r\n')).toEqual([
      502,
      expect.stringMatching(/failed: it sent 100 \(Continue\), which nobody waits for/),
    ]);
    expect(await outcomes(sidecar, 'engine-failed')).toBe(3);
    expect(logged[0]).toBe('the engine failed: sent more than 16 interim answers (1xx)');
  });

  it('[V443] of a prefilling server, too, leave the prompt to the engine', async () => {
    const sidecar = await started();
    const answer = complete(sidecar, apart());
    const visit = await bed.prefiller.next();
    visit.response.socket?.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(17));
    (await bed.engine.next()).response.end('{}');
    expect((await answer).status).toBe(200);
    await visit.closed;
  });
});

describe('answers of a prefilling server that cannot be used', () => {
  const page = (text: string) => (response: ServerResponse) => void response.end(text);
  it.each([
    ['no JSON', page('<html>')],
    ['no object', page('[1]')],
    ['no parameters', page('{"id":"x"}')],
    ['null', page('{"kv_transfer_params":null}')],
    ['parameters of the wrong type', page('{"kv_transfer_params":["10.0.0.9"]}')],
    ['an object of 3 MB', page(JSON.stringify({ kv_transfer_params: { a: 'x'.repeat(3e6) } }))],
    ['too many levels', page('{"a":'.repeat(1000))],
    ['an error', (response: ServerResponse) => void response.writeHead(500).end('{}')],
    [
      'a redirect',
      (response: ServerResponse) =>
        void response.writeHead(307, { location: `http://${bed.engine.address}/elsewhere` }).end(),
    ],
    ['a reset', (response: ServerResponse) => void response.socket?.resetAndDestroy()],
    ['half of it', (response: ServerResponse) => response.write('{', () => response.destroy())],
    [
      'no HTTP',
      (response: ServerResponse) => void response.socket?.end('SSH-2.0-OpenSSH_9.9\r\n\r\n'),
    ],
    [
      'endless headers',
      (response: ServerResponse) => void response.setHeader('x', 'x'.repeat(1e6)).end('{}'),
    ],
  ])('[V65] leave the prompt to the engine: %s', async (_, answerWith) => {
    const sidecar = await started();
    const answer = complete(sidecar, apart());
    answerWith((await bed.prefiller.next()).response);
    const visit = await bed.engine.next();
    expect([visit.path, JSON.parse(visit.body)]).toEqual(['/v1/completions', ASKED]);
    visit.response.end('{}');
    expect((await answer).status).toBe(200);
    expect(sidecar.counts).toEqual({ prefilled: 0, encoded: 0, fellBack: 1 });
  });

  it('[V65] leave one line in the log for many, and the next line counts the others', async () => {
    const sidecar = await started();
    for (let index = 0; index < 4; index++) {
      const answer = complete(sidecar, apart());
      (await bed.prefiller.next()).response.writeHead(500).end();
      (await bed.engine.next()).response.end('{}');
      await answer;
      if (index === 2) bed.clock.advanceTo(1_000);
    }
    const line = `prefill at ${bed.prefiller.address} failed, computing here: answered 500`;
    expect(logged).toEqual([line, `${line} (and 2 more before)`]);
  });
});
