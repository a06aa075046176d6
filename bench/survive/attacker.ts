import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { FLAG, FRAME, PREFACE } from '../../src/extproc/http2/frames.ts';
import { encodeHeaders } from '../../src/extproc/http2/hpack/header-encoder.ts';
import { frameOf, openRawStream } from '../support/ext-proc-frames.ts';
import { frame } from '../support/http2-frame.ts';
import { parseOptions } from '../support/parse-options.ts';

// A client, or a gateway, that means harm. A separate process, so that its CPU and its memory are
// not the picker's. Prints `{}` once it has begun, then what it has done each second, and ends when
// its stdin closes.

const { values } = parseOptions({
  options: {
    attack: { type: 'string', default: '' },
    port: { type: 'string', default: '0' },
    /** Uploads or streams at once, or how many a second. */
    count: { type: 'string', default: '0' },
  },
});
const port = Number(values.port);
const count = Number(values.count);
const done = { begun: 0, ended: 0 };

const UPLOAD_BYTES = 10_000_000;
const PIECE = Buffer.alloc(16 * 1024, 'x');
const PIECE_GAP_MS = 1000;
const SESSIONS = 10;
const TICK_MS = 10;
const CANCEL = Buffer.of(0, 0, 0, 8);
const CALL = encodeHeaders([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/envoy.service.ext_proc.v3.ExternalProcessor/Process'],
  ['content-type', 'application/grpc'],
]);

/** Uploads of 10 MB at 16 KB a second each. One that is refused begins again. */
function slowUpload(): void {
  const socket = connect(port, '127.0.0.1');
  done.begun += 1;
  socket.write(
    `POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${UPLOAD_BYTES}\r\n\r\n{"model":"m","prompt":"`,
  );
  const timer = setInterval(() => socket.write(PIECE), PIECE_GAP_MS);
  socket.on('error', () => undefined);
  socket.on('data', () => socket.destroy());
  socket.on('close', () => {
    clearInterval(timer);
    done.ended += 1;
    setTimeout(slowUpload, PIECE_GAP_MS);
  });
}

function sessions(): readonly ClientHttp2Session[] {
  return Array.from({ length: SESSIONS }, () => {
    const session = connectHttp2(`http://127.0.0.1:${port}`, { maxSessionMemory: 1000 });
    session.on('error', () => undefined);
    return session;
  });
}

const header = (key: string, value: string): object => ({ key, raw_value: Buffer.from(value) });
const requestHeaders = (more: readonly object[] = []): Buffer =>
  frameOf({
    request_headers: {
      headers: {
        headers: [header(':method', 'POST'), header(':path', '/v1/completions'), ...more],
      },
    },
  });

/** Streams whose request has been picked for, and whose answer never comes. */
function idleStreams(): void {
  const frames = Buffer.concat([
    requestHeaders(),
    frameOf({
      request_body: { body: Buffer.from('{"model":"m","prompt":"hello"}'), end_of_stream: true },
    }),
  ]);
  const all = sessions();
  let opened = 0;
  const timer = setInterval(() => {
    for (let each = 0; each < 20 && opened < count; each++, opened++) {
      const session = all[opened % SESSIONS];
      if (session === undefined) return;
      const stream = openRawStream(session);
      stream.once('data', () => {
        done.begun += 1;
      });
      stream.on('close', () => {
        done.ended += 1;
      });
      stream.write(frames);
    }
    if (opened === count) clearInterval(timer);
  }, TICK_MS);
}

/**
 * Streams that are reset as soon as they are open, so many a second. The frames are made here: an
 * HTTP/2 client would need most of a core for them, which others then lack.
 */
function resetFlood(): void {
  const open = (): { socket: Socket; streamId: number } => {
    const socket = connect(port, '127.0.0.1').setNoDelay(true);
    socket.on('error', () => undefined).resume();
    socket.write(Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0)]));
    return { socket, streamId: 1 };
  };
  const connections = Array.from({ length: SESSIONS }, open);
  const startedAt = performance.now();
  setInterval(() => {
    const due = Math.floor(((performance.now() - startedAt) * count) / 1000) - done.begun;
    done.begun += due;
    for (let each = 0; each < SESSIONS; each++) {
      let connection = connections[each] ?? open();
      if (connection.socket.destroyed) connection = open();
      connections[each] = connection;
      const frames: Buffer[] = [];
      for (let made = 0; made < due / SESSIONS; made++, connection.streamId += 2) {
        frames.push(frame(FRAME.headers, FLAG.endHeaders, connection.streamId, CALL));
        frames.push(frame(FRAME.resetStream, 0, connection.streamId, CANCEL));
      }
      connection.socket.write(Buffer.concat(frames));
    }
  }, TICK_MS);
}

/** Requests with so many bytes of headers that Envoy just passes them, so many a second. */
function headerBombs(): void {
  const bomb = Array.from({ length: 50 }, (_, index) => `x-bomb-${index}: ${'y'.repeat(1000)}\r\n`);
  const body = '{"model":"m","prompt":"hello"}';
  const head = `POST /v1/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n`;
  const startedAt = performance.now();
  setInterval(() => {
    const due = ((performance.now() - startedAt) * count) / 1000;
    while (done.begun < due) {
      done.begun += 1;
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.on('close', () => {
        done.ended += 1;
      });
      socket.resume();
      socket.write(`${head}${bomb.join('')}\r\n${body}`);
    }
  }, TICK_MS);
}

const ATTACKS: Readonly<Record<string, () => void>> = {
  uploads: () => {
    for (let each = 0; each < count; each++) setTimeout(slowUpload, each);
  },
  'idle-streams': idleStreams,
  'reset-flood': resetFlood,
  headers: headerBombs,
};

ATTACKS[values.attack]?.();
process.stdout.write('{}\n');
setInterval(() => process.stderr.write(`${JSON.stringify(done)}\n`), 1000);
process.stdin.on('end', () => process.exit(0)).resume();
