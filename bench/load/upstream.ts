import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { parseArgs } from 'node:util';
import {
  answer,
  completionAnswer,
  EVENT_STREAM_HEAD,
  eventChunks,
  metricsAnswers,
  type PageKind,
} from './answers.ts';
import { HttpReader } from './http-reader.ts';

// Model servers that use very little CPU: one process, one port for each server, prepared answers.
// A separate process, so that its CPU is not counted. Prints its ports as JSON when it listens, and
// ends when its stdin closes.

const { values } = parseArgs({
  options: {
    endpoints: { type: 'string', default: '1' },
    page: { type: 'string', default: 'small' },
    /** Chunks of an answer; 0: the answer is a JSON document. */
    chunks: { type: 'string', default: '0' },
    /** Milliseconds between two chunks; 0: the whole answer is written at once. */
    'chunk-gap-ms': { type: 'string', default: '10' },
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

function listen(): Promise<Server> {
  const server = createServer({ noDelay: true }, (socket) => {
    const reader = new HttpReader(({ head }) => onRequest(socket, head));
    socket.on('data', (data: Buffer) => reader.push(data));
    socket.on('error', () => socket.destroy());
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

const servers = await Promise.all(Array.from({ length: Number(values.endpoints) }, listen));
const ports = servers.map((server) => (server.address() as AddressInfo).port);
process.stdout.write(`${JSON.stringify({ ports })}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
