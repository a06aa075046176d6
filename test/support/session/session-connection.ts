import { Http2Connection } from '../../../src/extproc/http2/connection.ts';
import { runSession } from '../../../src/extproc/server/calls/run-session.ts';
import { Session } from '../../../src/extproc/session/session.ts';
import type { OpenStreams } from '../../../src/extproc/streams/open-streams.ts';
import { SimulatedClock } from '../../../src/runtime/clock/simulated-clock.ts';
import type { FakeTransport } from './http2-peer.ts';
import { RESERVING_SESSION } from './reserving-session.ts';

/** A connection of a gateway whose streams are sessions, at any number of bytes to be sent. */
export function sessionConnection(transport: FakeTransport, streams: OpenStreams): Http2Connection {
  const run = {
    newSession: (emit, account) => new Session(RESERVING_SESSION, emit, account),
    streams,
    receivedBytesMax: 2 ** 20,
    sentBytesMax: Number.POSITIVE_INFINITY,
    clock: new SimulatedClock(),
    times: undefined,
  } satisfies Parameters<typeof runSession>[1];
  return new Http2Connection({
    transport,
    streamsMax: 100,
    onStream: (stream) => runSession(stream, run, () => undefined),
  });
}
