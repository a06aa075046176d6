import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { Random } from '../../../src/framework/runtime.ts';
import { drawnBelow, drawnFrom } from '../drawn.ts';
import { processorClient, requestBody, requestHeaders } from '../grpc/ext-proc-client.ts';
import { startCuttableProxy } from '../servers/cuttable-proxy.ts';

const PATIENCE_MS = 2000;

const CLIENT_FAULTS = [
  'leaves',
  'is malformed',
  'is no JSON',
  'claims much',
  'has long headers',
  'resets an upload',
  'is a gateway that resets its stream',
] as const;

export interface StormClientsOptions {
  readonly random: Random;
  /** The gateways as they are now. */
  readonly gateways: () => readonly { readonly url: string }[];
  readonly extProcPort: number;
  readonly onFault: (fault: string) => void;
}

/** Clients that send requests, leave, send nonsense and reset what they have begun. */
export class StormClients {
  readonly #random: Random;
  readonly #gateways: StormClientsOptions['gateways'];
  readonly #extProcPort: number;
  readonly #onFault: (fault: string) => void;
  readonly #agent = new Agent({ connections: null, headersTimeout: 0, bodyTimeout: 0 });
  /** Requests that were answered with 200. */
  answered = 0;

  constructor(options: StormClientsOptions) {
    this.#random = options.random;
    this.#gateways = options.gateways;
    this.#extProcPort = options.extProcPort;
    this.#onFault = options.onFault;
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  /** Sends the request with this number, or fails in its place. */
  async send(n: number): Promise<void> {
    const chance = this.#random.next();
    if (chance < 0.7) return this.#ask(stormBody(n), PATIENCE_MS);
    const fault = drawnFrom(this.#random, CLIENT_FAULTS);
    this.#onFault(`client: ${fault}`);
    if (fault === 'leaves') return this.#ask(stormBody(n, 200), drawnBelow(this.#random, 60));
    if (fault === 'is malformed')
      return this.#ask(stormBody(n).slice(0, -1 - drawnBelow(this.#random, 20)));
    if (fault === 'is no JSON') return this.#ask('\u0000'.repeat(drawnBelow(this.#random, 1000)));
    if (fault === 'claims much') {
      return this.#ask(stormBody(n, 1e15), drawnBelow(this.#random, 100));
    }
    if (fault === 'has long headers')
      return this.#ask(stormBody(n), PATIENCE_MS, drawnBelow(this.#random, 80_000));
    if (fault === 'resets an upload') return this.#resetUpload();
    return this.#resetStream(n);
  }

  async #ask(text: string, patienceMs = PATIENCE_MS, headerBytes = 0): Promise<void> {
    try {
      const answer = await request(
        `${drawnFrom(this.#random, this.#gateways()).url}/v1/completions`,
        {
          dispatcher: this.#agent,
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            ...(headerBytes > 0 && { 'x-long': 'y'.repeat(headerBytes) }),
          },
          body: text,
          signal: AbortSignal.timeout(patienceMs),
        },
      );
      await answer.body.text();
      if (answer.statusCode === 200) this.answered += 1;
    } catch {
      // A fault of the storm.
    }
  }

  /** An upload whose connection is reset in the middle. */
  async #resetUpload(): Promise<void> {
    const socket = connect(
      Number(new URL(drawnFrom(this.#random, this.#gateways()).url).port),
      '127.0.0.1',
    );
    socket.on('error', () => undefined);
    socket.write(
      'POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n' +
        `content-length: 5000\r\n\r\n{"model":"m","prompt":"${'x'.repeat(drawnBelow(this.#random, 4000))}`,
    );
    await sleep(drawnBelow(this.#random, 30));
    socket.resetAndDestroy();
  }

  /** A gateway that resets its stream, or loses its connection, after a pick. */
  async #resetStream(n: number): Promise<void> {
    const cut =
      drawnBelow(this.#random, 2) === 0 ? await startCuttableProxy(this.#extProcPort) : undefined;
    const client = processorClient(cut?.port ?? this.#extProcPort);
    const stream = client.Process();
    stream.on('error', () => undefined);
    stream.on('data', () => undefined);
    stream.write(requestHeaders({ ':method': 'POST', ':path': '/v1/completions' }));
    stream.write(requestBody(stormBody(n)));
    await sleep(drawnBelow(this.#random, 30));
    // Closing the client would leave its stream open.
    if (cut === undefined) stream.cancel();
    await cut?.stop();
    client.close();
  }
}

/** The body of the request with this number. */
export function stormBody(n: number, tokens = 3): string {
  return JSON.stringify({
    model: 'm',
    prompt: `family ${n % 7} `.repeat(1 + (n % 50)),
    max_tokens: tokens,
    stream: n % 3 !== 0,
  });
}
