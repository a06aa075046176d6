import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { Clock, Millis } from '../../../framework/runtime.ts';
import { Deadline, TimeoutError } from '../../clock/deadline.ts';

interface PassOptions {
  readonly response: ServerResponse;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Between two pieces of the answer; 0 is no limit. */
  readonly idleTimeoutMs: Millis;
  /** For the client to read what is waiting for it; 0 is no limit. */
  readonly clientIdleTimeoutMs: Millis;
  /** Ends the answer where its server is silent for too long, in place of destroying `body`. */
  readonly endSilent?: (error: TimeoutError) => void;
}

/**
 * Sends the body of an answer on as it comes, and reads only as fast as the client does. Rejects if
 * the server breaks off or is silent for too long, and when the client has gone.
 */
export async function passAnswer(
  { body }: { readonly body: Readable },
  { response, signal, clock, idleTimeoutMs, clientIdleTimeoutMs, endSilent }: PassOptions,
): Promise<void> {
  const silent = new TimeoutError(`sent nothing for ${idleTimeoutMs} ms`);
  const end = endSilent ?? ((error) => void body.destroy(error));
  const server = new Deadline(clock, idleTimeoutMs, () => end(silent));
  const client = new Deadline(clock, clientIdleTimeoutMs, () => response.destroy());
  const readBy = async (event: 'drain' | 'finish'): Promise<void> => {
    client.restart();
    await once(response, event, { signal });
    client.pause();
  };
  try {
    server.restart();
    for await (const chunk of body as AsyncIterable<Buffer>) {
      server.pause();
      if (!response.write(chunk)) await readBy('drain');
      server.restart();
    }
    server.pause();
    response.end();
    if (!response.writableFinished) await readBy('finish');
  } finally {
    server.stop();
    client.stop();
  }
}

/** Ends an answer that has begun so that no client takes it for a whole one. */
export function breakOff(response: ServerResponse): void {
  // Without chunks only the end of the connection ends the body, so it must be no regular end.
  if (response.chunkedEncoding) response.destroy();
  else response.socket?.resetAndDestroy();
}
