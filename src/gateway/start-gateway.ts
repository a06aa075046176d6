import type { ServerResponse } from 'node:http';
import { buildConnector } from 'undici';
import type { Clock } from '../framework/runtime.ts';
import { measureBusyShare } from '../runtime/clock/busy-share.ts';
import { LineLimit } from '../runtime/log/limited-log.ts';
import { connectWithin } from '../runtime/network/client/connect-within.ts';
import { PacedAgent } from '../runtime/network/client/paced-agent.ts';
import { AnswerDelay } from '../runtime/network/server/answer-delay.ts';
import {
  type FrontDrain,
  type FrontExchange,
  HttpFront,
} from '../runtime/network/server/http-front.ts';
import { CutAnswers } from './cut-answers.ts';
import { createExtProcClient } from './ext-proc-client.ts';
import { GATEWAY_BOUNDS, type GatewayBounds, KEPT_BYTES_MAX } from './gateway-bounds.ts';
import { type ExchangeParts, GatewayExchange } from './gateway-exchange.ts';
import { type Strain, whyOverloaded } from './overload.ts';
import { errorBody } from './wire-messages.ts';

interface GatewayOptions {
  readonly host: string;
  readonly port: number;
  /** Where the picker serves ext_proc, `host:port`. */
  readonly extProcAddress: string;
  readonly extProcTls: boolean;
  readonly bounds?: Partial<GatewayBounds> | undefined;
  readonly clock: Clock;
  /** For tests; what this process measures by default. */
  readonly strain?: Strain;
  readonly log: (line: string) => void;
}

export interface Gateway {
  readonly port: number;
  /** Ends connections of clients without a request where no further file can be opened. */
  makeRoom(): void;
  /**
   * Serves on for a time, and has clients close their connections; then accepts no more, and lets
   * open requests go on for at most the other time.
   */
  drain(times: FrontDrain): Promise<void>;
  /** Closes all connections, including those of running requests. */
  stop(): Promise<void>;
}

/** Less than the 5 s for which model servers keep idle connections (uvicorn). */
const UPSTREAM_IDLE_MS = 4_000;
const FALLBACK_LINES_MS = 60_000;

/**
 * An HTTP gateway that asks the picker over ext_proc in full duplex, for machines without Envoy:
 * plaintext HTTP/1.1, no request trailers. Where an endpoint fails before its answer, the picker's
 * next choice is asked. What the picker does not answer is refused with 503: without it no endpoint
 * is known.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { host, port, extProcAddress, clock, log } = options;
  const parts = exchangeParts(options);
  let { strain } = options;
  const front = new HttpFront({
    clock,
    requestsMax: parts.bounds.requestsMax,
    whyNoMore: () => strain && whyOverloaded(strain),
    onRefused: writeRefusal,
    onRequest: (exchange: FrontExchange) => {
      const running = new GatewayExchange({ ...exchange, ...parts });
      // The client or the picker closed its connection; the exchange has handled that already.
      running.run().catch(() => undefined);
    },
  });
  const bound = await front.listen(host, port);
  const delay = new AnswerDelay({ clock, host, port: bound });
  strain ??= { busyShare: measureBusyShare(), answerDelayMs: () => delay.read() };
  const where = `listening on ${host}:${bound}, picker at ${extProcAddress}`;
  log(`this is the embedded gateway, not Envoy, for trials only: ${where}`);
  const close = async (): Promise<void> => {
    delay.stop();
    parts.cutAnswers.close();
    parts.extProc.close();
    await parts.upstreams.destroy();
  };
  return {
    port: bound,
    makeRoom: () => front.makeRoom(),
    drain: async (times) => {
      await front.drain(times);
      await close();
    },
    stop: async () => {
      await front.stop();
      await close();
    },
  };
}

/** What all exchanges share. */
function exchangeParts({
  extProcAddress: address,
  extProcTls: tls,
  bounds: given,
  clock,
  log,
}: GatewayOptions): ExchangeParts {
  const bounds = { ...GATEWAY_BOUNDS, ...given };
  const extProc = createExtProcClient({ address, tls, clock });
  return {
    extProc,
    cutAnswers: new CutAnswers({ extProc, clock }),
    upstreams: upstreamsOf(bounds, clock),
    bounds,
    clock,
    keptBytes: { left: KEPT_BYTES_MAX },
    onFallback: fallbackLines(log, clock),
  };
}

function writeRefusal(response: ServerResponse, status: number, message: string): void {
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(errorBody(status, message));
}

function upstreamsOf({ connectTimeoutMs }: GatewayBounds, clock: Clock): PacedAgent {
  return new PacedAgent({
    clock,
    keepAliveTimeout: UPSTREAM_IDLE_MS,
    connections: null,
    connect: connectWithin(buildConnector({ timeout: 0 }), connectTimeoutMs, clock),
  });
}

/** A line a minute about requests that went to the picker's next choice. */
function fallbackLines(
  log: (line: string) => void,
  clock: Clock,
): (address: string, why: string) => void {
  const limit = new LineLimit(clock, FALLBACK_LINES_MS);
  return (address, why) => {
    const leftOut = limit.pass('fallback');
    if (leftOut === undefined) return;
    const more = leftOut === 0 ? '' : `; ${leftOut} more since the last such line`;
    log(`a request goes to ${address}, because the endpoint before gave no answer (${why})${more}`);
  };
}
