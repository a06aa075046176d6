import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { parseArgs } from 'node:util';
import { frameOf, openRawStream } from '../support/ext-proc-frames.ts';

// A client, or a gateway, that means harm. A separate process, so that its CPU and its memory are
// not the picker's. Prints `{}` once it has begun, then what it has done each second, and ends when
// its stdin closes.

const { values } = parseArgs({
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

/** Streams that are reset as soon as they are open, so many a second. */
function resetFlood(): void {
  let all = sessions();
  const startedAt = performance.now();
  setInterval(() => {
    if (all.some((session) => session.destroyed)) all = sessions();
    const due = ((performance.now() - startedAt) * count) / 1000;
    for (let each = 0; done.begun < due && each < count; each++) {
      const session = all[done.begun % SESSIONS];
      done.begun += 1;
      if (session === undefined || session.closed || session.destroyed) continue;
      openRawStream(session).close(8);
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
