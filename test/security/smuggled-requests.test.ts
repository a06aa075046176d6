import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { Access } from '../../src/serve/admin/access.ts';
import { startAdminServer } from '../../src/serve/admin/admin-server.ts';
import { BearerToken } from '../../src/serve/admin/bearer-token.ts';
import { startSidecar } from '../../src/sidecar/start-sidecar.ts';
import { pickOf, startScriptedPicker } from '../support/grpc/scripted-picker.ts';
import { gatewayBefore } from '../support/servers/gateway-before.ts';
import { sidecarOptions } from '../support/sidecar/sidecar-options.ts';

/**
 * Bytes that two servers could read as different requests: they are refused, or the engine gets one
 * request that can be read in one way only.
 */

const TOKEN = 'a-token-of-this-test';
const BODY = '{"prompt":"x"}';
const LENGTH = BODY.length;
const HIDDEN = 'GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const CHUNKS = `${LENGTH.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;

/** A request with these lines in its head. */
const post = (lines: string, body: string, version = '1.1'): string =>
  `POST /v1/completions HTTP/${version}\r\nHost: a\r\n${lines}\r\n${body}`;
const withLength = (lines: string): string =>
  post(`${lines}Content-Length: ${LENGTH}\r\n`, BODY + HIDDEN);

const REFUSED: readonly (readonly [string, string])[] = [
  ['two Host headers', withLength('Host: b\r\n')],
  ['Content-Length twice', withLength(`Content-Length: ${LENGTH}\r\n`)],
  ['two different Content-Length', withLength('Content-Length: 0\r\n')],
  ['a list in Content-Length', post(`Content-Length: ${LENGTH}, ${LENGTH}\r\n`, BODY)],
  ['a sign in Content-Length', post(`Content-Length: +${LENGTH}\r\n`, BODY + HIDDEN)],
  ['a Content-Length beyond 64 bits', post('Content-Length: 18446744073709551630\r\n', BODY)],
  ['no value in Content-Length', post('Content-Length: \r\n', HIDDEN)],
  ['a space before the colon', post(`Content-Length : ${LENGTH}\r\n`, BODY + HIDDEN)],
  ['Transfer-Encoding with Content-Length', withLength(CHUNKED)],
  ['Content-Length before Transfer-Encoding', post(`Content-Length: 5\r\n${CHUNKED}`, CHUNKS)],
  ['Transfer-Encoding twice', post(CHUNKED + CHUNKED, CHUNKS)],
  ['an unknown Transfer-Encoding', post('Transfer-Encoding: xchunked\r\n', CHUNKS)],
  ['chunked that is not last', post('Transfer-Encoding: chunked, identity\r\n', CHUNKS)],
  ['a coding before chunked', post('Transfer-Encoding: gzip, chunked\r\n', CHUNKS)],
  ['Transfer-Encoding in HTTP/1.0', post(CHUNKED, CHUNKS + HIDDEN, '1.0')],
  ['a folded line', withLength('X-A: b\r\n c\r\n')],
  ['a folded Transfer-Encoding', post('Transfer-Encoding:\r\n chunked\r\n', CHUNKS)],
  ['NUL in a value', withLength('X-A: b\0c\r\n')],
  ['NUL in a name', withLength('X-\0A: b\r\n')],
  ['a bare CR', withLength('X-A: b\rX-B: c\r\n')],
  ['a bare LF', withLength('X-A: b\nX-B: c\r\n')],
  ['lines that end with LF', `POST / HTTP/1.1\nHost: a\n\n${HIDDEN}`],
  ['a chunk whose lines end with LF', post(CHUNKED, CHUNKS.replaceAll('\r', ''))],
  ['a chunk size with 0x', post(CHUNKED, `0x${CHUNKS}`)],
  ['a chunk longer than its size', post(CHUNKED, CHUNKS.replace('}\r\n', '}XX'))],
];

const READ_ONE_WAY: readonly (readonly [string, string])[] = [
  ['zeros before Content-Length', post(`Content-Length: 000${LENGTH}\r\n`, BODY)],
  ['chunks', post(CHUNKED, CHUNKS)],
  ['an extension of a chunk', post(CHUNKED, CHUNKS.replace('\r\n', ';a=b\r\n'))],
  [
    'Connection that names Content-Length',
    post(`Connection: content-length\r\nContent-Length: ${LENGTH}\r\n`, BODY),
  ],
  [
    'Connection that names Transfer-Encoding',
    post(`Connection: transfer-encoding\r\n${CHUNKED}`, CHUNKS),
  ],
  [
    'an offer of HTTP/2',
    post(`Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: ${LENGTH}\r\n`, BODY),
  ],
];

const stops: (() => unknown)[] = [];
/** All bytes that the engine got. */
let received: string;
let engine: string;

beforeEach(async () => {
  received = '';
  const server = createServer((socket) => {
    socket.on('error', () => undefined).setEncoding('latin1');
    socket.on('data', (bytes: string) => {
      received += bytes;
      if (received.endsWith(BODY) || received.endsWith(CHUNKS)) {
        socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}');
      }
    });
  });
  stops.push(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  engine = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

/** The port of an embedded gateway before the engine. */
async function gatewayPort(): Promise<number> {
  const picker = await startScriptedPicker(engine);
  picker.script(pickOf(engine));
  const gateway = await gatewayBefore(picker.port, { clock: new SimulatedClock() });
  stops.push(() => picker.stop(), gateway.stop);
  return gateway.port;
}

/** The port of a sidecar before the engine. */
async function sidecarPort(): Promise<number> {
  const sidecar = await startSidecar(sidecarOptions({ engine, clock: new SimulatedClock() }));
  stops.push(() => sidecar.stop());
  return Number(sidecar.address.split(':').at(-1));
}

/** What comes back for these bytes until `isEnough`, or until the connection ends. */
async function answerTo(
  port: number,
  bytes: string,
  isEnough: (answer: string) => boolean,
): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  socket.on('error', () => undefined);
  let answer = '';
  socket.on('data', (piece: string) => {
    answer += piece;
    if (isEnough(answer)) socket.destroy();
  });
  socket.write(bytes, 'latin1');
  await once(socket, 'close');
  return answer;
}

describe.each([
  ['the embedded gateway', gatewayPort],
  ['the sidecar', sidecarPort],
])('%s', (_, start) => {
  it.each(REFUSED)('[V556] refuses %s', async (_what, bytes) => {
    const answer = await answerTo(await start(), bytes, () => false);
    expect(answer).toMatch(/^HTTP\/1\.1 (400|501) /);
    expect(answer.match(/HTTP\/1\.1 \d/g)).toHaveLength(1);
    // The head may have gone on before a fault of the body was there to be seen.
    expect(received).not.toMatch(/hidden|prompt/);
  });

  it.each(READ_ONE_WAY)(
    '[V556] sends on one request, read in one way: %s',
    async (_what, bytes) => {
      // The sidecar answers in chunks.
      await answerTo(await start(), bytes, (answer) => /\{\}(?:\r\n0\r\n\r\n)?$/.test(answer));
      const headEnd = received.indexOf('\r\n\r\n');
      const framing = received.slice(0, headEnd).match(/(content-length|transfer-encoding):.*/gi);
      expect([framing, received.slice(headEnd + 4)]).toBeOneOf([
        [[`content-length: ${LENGTH}`], BODY],
        [['transfer-encoding: chunked'], CHUNKS],
      ]);
    },
  );
});

describe('the metrics port', () => {
  const folder = mkdtempSync(join(tmpdir(), 'smuggled-'));
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, TOKEN);
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Its port, and how many requests an action has got. */
  async function adminPort(): Promise<{ readonly port: number; readonly acted: () => number }> {
    let acted = 0;
    const server = await startAdminServer({
      host: '127.0.0.1',
      port: 0,
      access: new Access({ adminToken: new BearerToken('--admin-token-file', tokenFile) }),
      metricsPage: () => Promise.resolve({ contentType: 'text/plain', body: '' }),
      ready: () => ({ ok: true, state: 'ready', reasons: [], detail: {} }),
      documents: new Map(),
      actions: new Map([['/act', () => ({ acted: ++acted })]]),
    });
    stops.push(() => server.stop());
    return { port: server.port, acted: () => acted };
  }

  it('[V556] refuses two Host headers, also for pages that are open to all', async () => {
    const { port } = await adminPort();
    const request = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n';
    const answer = await answerTo(port, request, () => false);
    expect(answer).toMatch(/^HTTP\/1\.1 400 [^]+2 Host headers/);
  });

  it.each([
    ['two Host headers', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n'],
    ['Transfer-Encoding in HTTP/1.0', post(CHUNKED, CHUNKS, '1.0')],
    ['a coding before chunked', post('Transfer-Encoding: gzip, chunked\r\n', CHUNKS)],
  ])('[V556] does nothing of what came behind %s', async (_what, bytes) => {
    const { port, acted } = await adminPort();
    const act = `POST /act HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;
    const isAnswered = (answer: string): boolean => answer.includes('"acted"');
    expect(await answerTo(port, act, isAnswered)).toMatch(/^HTTP\/1\.1 200 /);
    const answer = await answerTo(port, bytes + act, () => false);
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual([expect.stringMatching(/ (400|501)$/)]);
    expect(acted()).toBe(1);
  });
});
