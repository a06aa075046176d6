import type { JsonObject } from '../openai/json/json-object.ts';
import type { EngineAnswer } from './answers/engine-answer.ts';
import { checkedBody } from './body/client-body.ts';
import { apiOf, type GenerationApi, withTransfer } from './body/generation-api.ts';
import { TurnsReader } from './body/read-in-turns.ts';
import { kvSourceParams } from './contracts/offloading.ts';
import { HeldUpload } from './exchange/held-upload.ts';
import { namedEncoders, namedKvSource, namedPrefiller } from './exchange/named-servers.ts';
import { readUpload } from './exchange/read-upload.ts';
import type { Exchange } from './exchange/sidecar-parts.ts';
import { decode, forward } from './stages/decode.ts';
import { encodedElsewhere } from './stages/encode-media.ts';
import { fallBackToHere, SERVER_ERROR } from './stages/fall-back.ts';
import { prefilledElsewhere } from './stages/prefill-elsewhere.ts';
import { computedAhead } from './stages/speculative-prefill.ts';

/**
 * Counts the request's body until the engine answers, and the servers asked have taken all of it.
 */
export async function askEngine(exchange: Exchange): Promise<EngineAnswer> {
  const { request, bounds, budget, options, signal } = exchange;
  const upload = await readUpload(request, { bounds, budget, clock: options.clock, signal });
  const held = new HeldUpload({ upload, budget, legs: exchange.upstreams });
  try {
    const answer = await answerTo(upload, held, { ...exchange, upstreams: held });
    if (answer.needsRequest === true) held.holdUntilClosed(answer.body);
    return answer;
  } finally {
    held.letGo();
  }
}

async function answerTo(
  upload: Buffer,
  held: HeldUpload,
  exchange: Exchange,
): Promise<EngineAnswer> {
  const { request, reserved, metrics, signal } = exchange;
  const [path = ''] = (request.url ?? '').split('?', 1);
  const api = request.method === 'POST' ? apiOf(path) : undefined;
  const isJson = api !== undefined || /[/+]json\b/i.test(request.headers['content-type'] ?? '');
  const { bytes, object } =
    isJson && upload.length > 0
      ? await checkedBody(upload, reserved, new TurnsReader(signal))
      : { bytes: upload };
  held.keepInstead(bytes);
  if (api !== undefined) metrics.onGeneration(api.name);
  const prefiller = api && namedPrefiller(exchange);
  if (api === undefined || object === undefined) {
    return forward({ body: [bytes], headers: {} }, exchange);
  }
  const answer = await generate({ body: object, api, prefiller }, exchange);
  return computedAhead({ body: object, api, prefiller }, answer, exchange);
}

/** A request that generates tokens, and the server that its headers name for the prompt. */
interface AskedGeneration {
  readonly body: JsonObject;
  readonly api: GenerationApi;
  readonly prefiller: string | undefined;
}

async function generate(
  { body, api, prefiller }: AskedGeneration,
  exchange: Exchange,
): Promise<EngineAnswer> {
  const encoders = namedEncoders(exchange);
  const named = namedKvSource(exchange);
  // The server that computes the prompt finds its own blocks by itself.
  const kvSource = named === (prefiller ?? ownServer(exchange)) ? undefined : named;
  const here = (): Promise<EngineAnswer> => decode({ body, headers: {} }, api, exchange);
  const apart = prefiller !== undefined || encoders.length > 0 || kvSource !== undefined;
  if (!apart) return here();
  const encoded = encoders.length > 0 ? await encodedElsewhere(body, encoders, exchange) : body;
  if (prefiller !== undefined) {
    const asked = { body: encoded, api, prefiller, kvSource, signal: exchange.signal };
    const answer = await prefilledElsewhere(asked, exchange, here);
    if (answer !== undefined) return answer;
  }
  const sent = prefiller === undefined ? fromPeer(encoded, api, kvSource, exchange) : encoded;
  if (sent === body) return here();
  const decodedSince = exchange.options.clock.now();
  const answer = await decode({ body: sent, headers: {} }, api, exchange);
  if (answer.statusCode >= SERVER_ERROR) return fallBackToHere(answer, exchange, here);
  return { ...answer, decodedSince };
}

/** The engine of this exchange as pickers name it; undefined where the pod's address is not known. */
function ownServer({ options, engine, engines }: Exchange): string | undefined {
  const { podIp, port } = options;
  const host = podIp?.includes(':') === true ? `[${podIp}]` : podIp;
  return host && `${host}:${port + Math.max(0, engines.indexOf(engine))}`;
}

/** The request by which the engine takes cached blocks from a peer; unchanged without one. */
function fromPeer(
  body: JsonObject,
  api: GenerationApi,
  source: string | undefined,
  { peerPorts }: Exchange,
): JsonObject {
  if (source === undefined) return body;
  const params = JSON.stringify(kvSourceParams(source, peerPorts));
  return withTransfer(body, api, { kv_transfer_params: params });
}
