import type { IncomingMessage } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Clock } from '../framework/runtime.ts';
import { within } from '../runtime/clock/deadline.ts';
import { interimAnswers } from '../runtime/network/client/interim-answers.ts';
import type { GatewayBounds } from './gateway-bounds.ts';
import type { HeaderPair } from './header-mutation.ts';
import type { SentBody } from './sent-body.ts';
import { destinationsOf, whyAnotherMayAnswer } from './wire-messages.ts';

interface AskOptions {
  readonly request: IncomingMessage;
  readonly headers: readonly HeaderPair[];
  /** Undefined for a request without a body. */
  readonly body: SentBody | undefined;
  readonly upstreams: Dispatcher;
  readonly bounds: GatewayBounds;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called before each endpoint is asked, with why the one before gave no answer. */
  readonly onAsk: (address: string, why: string | undefined) => void;
}

/**
 * A model server that answers 503 has not begun with the request, and a proxy before it that answers
 * 502 had no byte of an answer.
 */
const UNANSWERED: ReadonlySet<number> = new Set([502, 503]);

/**
 * The answer of the first of the picker's destinations that gives one. The next one is asked only
 * where no byte of an answer has come, or the answer is a status that says so, and where
 * the body can be sent once more. Rejects with the failure of the last one.
 */
export async function askEndpoints(options: AskOptions): Promise<Dispatcher.ResponseData> {
  const { headers, body, onAsk, signal } = options;
  const destinations = destinationsOf(headers);
  let why: string | undefined;
  for (const [at, address] of destinations.entries()) {
    const isLast = at === destinations.length - 1;
    if (isLast) body?.forget();
    const mayAskNext = (): boolean => !isLast && !signal.aborted && body?.isKept !== false;
    onAsk(address, why);
    try {
      const answer = await askOne(address, options);
      if (!UNANSWERED.has(answer.statusCode) || !mayAskNext()) {
        body?.forget();
        return answer;
      }
      answer.body.on('error', () => undefined).destroy();
      why = `answered ${answer.statusCode}`;
    } catch (error) {
      why = whyAnotherMayAnswer(error);
      if (why === undefined || !mayAskNext()) throw error;
    }
    body?.restart();
  }
  throw new Error('the picker named no destination');
}

function askOne(
  address: string,
  { request, headers, body, upstreams, bounds, clock, signal }: AskOptions,
): Promise<Dispatcher.ResponseData> {
  const { firstByteTimeoutMs: limitMs } = bounds;
  return within({ clock, limitMs, signal, what: 'sent no headers' }, (own) =>
    upstreams.request({
      origin: `http://${address}`,
      path: request.url ?? '/',
      method: (request.method ?? 'GET') as Dispatcher.HttpMethod,
      headers: headers.flat(),
      body: body?.stream ?? null,
      responseHeaders: 'raw',
      onInfo: interimAnswers(),
      signal: own,
      headersTimeout: 0,
      bodyTimeout: 0,
    }),
  );
}
