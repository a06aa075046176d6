import type { Dispatcher } from 'undici';
import { within } from '../../runtime/clock/deadline.ts';
import type { EngineAnswer } from '../answers/engine-answer.ts';
import type { GenerationApi } from '../body/generation-api.ts';
import type { Leg } from '../contracts/kv-contract.ts';
import type { Exchange } from '../exchange/sidecar-parts.ts';
import { UNCOMPRESSED } from '../servers/post-json.ts';
import { chunkedDecode } from './chunked-decode.ts';

/** Has an answer decoded by the engine, in pieces where the operator has set that. */
export async function decode(
  leg: Leg,
  api: GenerationApi,
  exchange: Exchange,
): Promise<EngineAnswer> {
  const { decodeChunkTokens } = exchange.options;
  if (decodeChunkTokens > 0 && api.name === 'chat_completions') {
    const chunked = await chunkedDecode(leg.body, decodeChunkTokens, ({ pieces }) =>
      forward({ body: pieces, headers: { ...leg.headers, ...UNCOMPRESSED } }, exchange),
    );
    if (chunked !== undefined) return chunked;
  }
  return forward({ ...leg, body: leg.body.pieces }, exchange);
}

/** A request to a server as it is sent. */
type Sent = Omit<Leg, 'body'> & { readonly body: readonly Buffer[] };

/** Sends a request to the engine as it is. Rejects where no headers of an answer come in time. */
export function forward(
  sent: Sent,
  exchange: Exchange,
  signal: AbortSignal = exchange.signal,
): Promise<EngineAnswer> {
  const { request, headers, upstreams, options, bounds, engine } = exchange;
  const { firstByteTimeoutMs: limitMs } = bounds;
  const time = { clock: options.clock, limitMs, signal, what: 'sent no headers' };
  return within(
    time,
    (own): Promise<EngineAnswer> =>
      upstreams.request('decoder', {
        server: engine,
        path: request.url ?? '/',
        method: (request.method ?? 'GET') as Dispatcher.HttpMethod,
        headers: { ...headers, ...sent.headers },
        body: sent.body,
        signal: own,
      }),
  );
}
