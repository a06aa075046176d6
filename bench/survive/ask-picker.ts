import { connect } from 'node:http2';
import { frameOf, openRawStream } from '../support/ext-proc-frames.ts';

/** Fewer than of those through Envoy: they take CPU of the picker, too. */
const PER_SECOND = 25;
const BODY = JSON.stringify({ model: 'm', prompt: 'hello '.repeat(600) });
const TICK_MS = 1;

const header = (key: string, value: string): object => ({ key, raw_value: Buffer.from(value) });

const REQUEST = Buffer.concat([
  frameOf({
    request_headers: {
      headers: { headers: [header(':method', 'POST'), header(':path', '/v1/completions')] },
    },
  }),
  frameOf({ request_body: { body: Buffer.from(BODY), end_of_stream: true } }),
]);

/**
 * Asks the picker at a constant rate over a connection of its own, as a gateway that nobody
 * attacks. `onLatency` gets the time to each answer, since the request was due; `onLate` how late
 * each turn of this process was.
 */
export function startAsking(
  port: number,
  handlers: { readonly onLatency: (ms: number) => void; readonly onLate: (ms: number) => void },
): { stop(): void } {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => undefined);
  const startedAt = performance.now();
  let due = 0;
  let lastTickAt = startedAt;
  const timer = setInterval(() => {
    const now = performance.now();
    handlers.onLate(Math.max(0, now - lastTickAt - TICK_MS));
    lastTickAt = now;
    for (; due * (1000 / PER_SECOND) <= now - startedAt; due++) {
      const dueAt = startedAt + due * (1000 / PER_SECOND);
      const stream = openRawStream(session);
      stream.once('data', () => {
        handlers.onLatency(performance.now() - dueAt);
        stream.close();
      });
      stream.write(REQUEST);
    }
  }, TICK_MS);
  return {
    stop() {
      clearInterval(timer);
      session.destroy();
    },
  };
}
