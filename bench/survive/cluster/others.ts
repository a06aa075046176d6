import type { ClientHttp2Session } from 'node:http2';
import { setTimeout as wait } from 'node:timers/promises';
import { quantile, sorted } from '../../../src/lab/run-summary/statistics.ts';
import { frameOf, openRawStream } from '../../support/ext-proc-frames.ts';

const header = (key: string, value: string): object => ({ key, raw_value: Buffer.from(value) });
const MESSAGES = Buffer.concat([
  frameOf({
    request_headers: {
      headers: { headers: [header(':method', 'POST'), header(':path', '/v1/completions')] },
    },
  }),
  frameOf({
    request_body: { body: Buffer.from('{"model":"m","prompt":"hello"}'), end_of_stream: true },
  }),
]);
/** A request is open for so long: a picker that does not answer has failed it. */
const ANSWER_MS = 5000;
const GAP_MS = 20;

export interface Others {
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly asked: number;
  readonly failed: number;
}

/** What requests get, one after the other, for so long. */
export async function askFor(session: ClientHttp2Session, forMs: number): Promise<Others> {
  const until = performance.now() + forMs;
  const times: number[] = [];
  let failed = 0;
  while (performance.now() < until) {
    const from = performance.now();
    if (!(await ask(session))) failed += 1;
    times.push(performance.now() - from);
    await wait(GAP_MS);
  }
  const ascending = sorted(times);
  const at = (share: number): number => Math.round(10 * quantile(ascending, share)) / 10;
  return { p99Ms: at(0.99), maxMs: at(1), asked: times.length, failed };
}

/** A message has five bytes of gRPC before it, and begins with the tag of what it answers. */
const [HEAD_BYTES, BODY_TAG, REFUSED_TAG] = [5, 0x1a, 0x3a];

/** Whether the picker decided about a request. */
function ask(session: ClientHttp2Session): Promise<boolean> {
  return new Promise((resolve) => {
    const stream = openRawStream(session);
    const end = (ok: boolean): void => {
      clearTimeout(timer);
      resolve(ok);
      stream.destroy();
    };
    const timer = setTimeout(() => end(false), ANSWER_MS);
    let left = Buffer.alloc(0);
    stream.on('data', (chunk: Buffer) => {
      left = Buffer.concat([left, chunk]);
      while (left.length > HEAD_BYTES) {
        const tag = left[HEAD_BYTES];
        if (tag === BODY_TAG || tag === REFUSED_TAG) return end(tag === BODY_TAG);
        left = left.subarray(HEAD_BYTES + left.readUInt32BE(1));
      }
    });
    stream.on('error', () => end(false));
    stream.on('close', () => end(false));
    stream.write(MESSAGES);
  });
}
