import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { expect, it } from 'vitest';
import { eventually } from '../../../../bench/support/stack.ts';
import { headers, settings } from '../../../../test/support/session/http2-peer.ts';
import { SimulatedClock } from '../../../runtime/clock/simulated-clock.ts';
import { selfSignedCertificate } from '../../../runtime/network/server/self-signed-certificate.ts';
import { PREFACE } from '../../http2/frames.ts';
import { Listener } from './listener.ts';
import { limitsFor } from './server-limits.ts';
import { TlsCredentials } from './tls-credentials.ts';

const STREAMS = 60_000;
/** Two reads, as one is on its way already when the socket is paused. */
const TURN_BYTES_MAX = 2 * 64 * 1024;

const HANDLER = { data: () => false, ended: () => undefined, closed: () => undefined };

/** How many requests come to a handler in each turn of the loop. */
class Turns {
  readonly counts: number[] = [];
  #inTurn = 0;
  #immediate = setImmediate(() => this.#end());

  onStream(): void {
    this.#inTurn += 1;
  }

  get all(): number {
    return this.counts.reduce((sum, count) => sum + count, 0);
  }

  stop(): void {
    clearImmediate(this.#immediate);
  }

  #end(): void {
    if (this.#inTurn > 0) this.counts.push(this.#inTurn);
    this.#inTurn = 0;
    this.#immediate = setImmediate(() => this.#end());
  }
}

it.each(['plaintext', 'tls'] as const)(
  '[V451] lets others have their turn after some bytes of one peer: %s',
  async (security) => {
    const turns = new Turns();
    const tls =
      security === 'tls' ? new TlsCredentials(await selfSignedCertificate()) : 'plaintext';
    const listener = new Listener({
      host: '127.0.0.1',
      port: 0,
      tls,
      limits: { ...limitsFor(2 ** 30), streamsMax: STREAMS },
      clock: new SimulatedClock(),
      onStream: () => {
        turns.onStream();
        return HANDLER;
      },
    });
    await listener.listen();
    const to = { port: listener.port, host: '127.0.0.1' };
    const options = { ...to, rejectUnauthorized: false, ALPNProtocols: ['h2'] };
    const client = security === 'tls' ? connectTls(options) : connect(to);
    await once(client, security === 'tls' ? 'secureConnect' : 'connect');
    const requests = Array.from({ length: STREAMS }, (_, index) => headers(2 * index + 1, true));
    client.on('data', () => undefined).on('error', () => undefined);
    client.write(Buffer.concat([PREFACE, settings(), ...requests]));
    await eventually(
      () => turns.all,
      (count) => count === STREAMS,
    );
    turns.stop();
    client.destroy();
    const closed = listener.close();
    listener.cut();
    await closed;
    const [request] = requests;
    expect(Math.max(...turns.counts) * (request?.length ?? 0)).toBeLessThanOrEqual(TURN_BYTES_MAX);
  },
);
