import { type AddressInfo, createServer, type Socket } from 'node:net';
import { parseOptions } from '../support/parse-options.ts';
import {
  answer,
  completionAnswer,
  EVENT_STREAM_HEAD,
  eventChunks,
  metricsAnswers,
  type PageKind,
} from './answers.ts';
import { HttpReader } from './http-reader.ts';

/** Addresses from 127.0.1.1 to 127.0.1.250, then from 127.0.2.1 on. */
const PODS_OF_A_NET = 250;

// Model servers that use very little CPU: one process, an address for each server, prepared answers.
// A separate process, so that its CPU is not counted. Prints its addresses as JSON when it listens,
// and ends when its stdin closes.

const { values } = parseOptions({
  options: {
    endpoints: { type: 'string', default: '1' },
    page: { type: 'string', default: 'small' },
    /** Chunks of an answer; 0: the answer is a JSON document. */
    chunks: { type: 'string', default: '0' },
    /** Milliseconds between two chunks; 0: the whole answer is written at once. */
    'chunk-gap-ms': { type: 'string', default: '10' },
    /** As pods have it: each server on a loopback address of its own, all with the same port. */
    'as-pods': { type: 'boolean', default: false },
  },
});
const pages = metricsAnswers(pageKind(values.page));
const completion = completionAnswer();
const chunks = eventChunks(Number(values.chunks));
const chunkGapMs = Number(values['chunk-gap-ms']);
const wholeStream = Buffer.concat([EVENT_STREAM_HEAD, ...chunks]);
let scrapes = 0;

function pageKind(name: string): PageKind {
  return name === 'real' || name === 'real-idle' ? name : 'small';
}

function onRequest(socket: Socket, head: string): void {
  if (head.startsWith('POST ')) {
    if (chunks.length === 0) socket.write(completion);
    else if (chunkGapMs === 0) socket.write(wholeStream);
    else streamTo(socket);
    return;
  }
  if (head.startsWith('GET /scrapes')) socket.write(answer('application/json', String(scrapes)));
  else socket.write(pages[scrapes++ % pages.length] ?? completion);
}

function streamTo(socket: Socket): void {
  let next = 0;
  socket.write(EVENT_STREAM_HEAD);
  const timer = setInterval(() => {
    const chunk = chunks[next++];
    if (chunk === undefined || socket.destroyed) clearInterval(timer);
    else socket.write(chunk);
  }, chunkGapMs);
}

/** Listens and returns `host:port`; port 0 is a free one. */
function listen(host: string, port = 0): Promise<string> {
  const server = createServer({ noDelay: true }, (socket) => {
    const reader = new HttpReader(({ head }) => onRequest(socket, head));
    socket.on('data', (data: Buffer) => reader.push(data));
    socket.on('error', () => socket.destroy());
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      resolve(`${host}:${(server.address() as AddressInfo).port}`);
    });
  });
}

/** Linux has all of 127.0.0.0/8 on the loopback. */
function podHost(index: number): string {
  return `127.0.${1 + Math.floor(index / PODS_OF_A_NET)}.${1 + (index % PODS_OF_A_NET)}`;
}

async function listenAsPods(count: number): Promise<readonly string[]> {
  const first = await listen(podHost(0));
  const port = Number(first.split(':')[1]);
  const others = Array.from({ length: count - 1 }, (_, at) => listen(podHost(at + 1), port));
  return [first, ...(await Promise.all(others))];
}

const count = Number(values.endpoints);
const addresses = values['as-pods']
  ? await listenAsPods(count)
  : await Promise.all(Array.from({ length: count }, () => listen('127.0.0.1')));
process.stdout.write(`${JSON.stringify({ addresses })}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
