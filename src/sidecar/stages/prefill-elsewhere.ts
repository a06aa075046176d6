import { within } from '../../runtime/clock/deadline.ts';
import { cachedTokensIn, withCachedTokens } from '../answers/cached-tokens.ts';
import type { EngineAnswer } from '../answers/engine-answer.ts';
import { memberObject, TurnsReader } from '../body/read-in-turns.ts';
import { Refusal } from '../body/refusal.ts';
import type { Asked, Leg, Legs } from '../contracts/kv-contract.ts';
import { HIT_THRESHOLD } from '../contracts/shared-storage.ts';
import type { Exchange } from '../exchange/sidecar-parts.ts';
import { UNCOMPRESSED } from '../servers/post-json.ts';
import { answeredFromCache } from './answered-from-cache.ts';
import { decode, forward } from './decode.ts';
import { fallBack, fallBackToHere, SERVER_ERROR } from './fall-back.ts';
import { type Attempt, legsAtOnce } from './legs-at-once.ts';
import { postWithRetries } from './post-with-retries.ts';

/** Has the engine answer without the results of other servers. */
export type ComputeHere = () => Promise<EngineAnswer>;

/**
 * Has the prompt computed by the prefilling server, and the answer decoded by the engine. Undefined
 * where that server fails. Rejects where the client has gone, or the engine fails without results.
 */
export async function prefilledElsewhere(
  asked: Asked,
  exchange: Exchange,
  here: ComputeHere,
): Promise<EngineAnswer | undefined> {
  const { contract, metrics } = exchange;
  const { body, prefiller, signal } = asked;
  if (contract.decodesFirst && body.member(HIT_THRESHOLD) !== undefined) {
    const first = await forward({ body: body.pieces, headers: UNCOMPRESSED }, exchange);
    const cached = await answeredFromCache(first, exchange);
    if (cached !== undefined) return cached;
  }
  metrics.onApart();
  const turn = await exchange.earlierTurns?.turnOf(body, asked.api, signal);
  let legs: Legs;
  try {
    legs = await contract.legsOf({ ...asked, earlierKv: turn?.take() });
  } catch (error) {
    return leave(error, prefiller, exchange);
  }
  const { clock } = exchange.options;
  const begun = clock.now();
  const onPrefilled = (): void => {
    metrics.onStage('prefill', 'done');
    metrics.onDuration('prefill', clock.now() - begun);
  };
  if (!legs.atOnce) {
    const decoded = await oneAfterTheOther({ asked, legs, onPrefilled }, exchange, here);
    return decoded && (turn?.watched(decoded) ?? decoded);
  }
  return legsAtOnce({ asked, legs, onPrefilled }, exchange, {
    here,
    leave: (error) => leave(error, prefiller, exchange),
  });
}

/** The prefilling server cannot be used for this request. Throws where the client has gone. */
function leave(error: unknown, prefiller: string, exchange: Exchange): undefined {
  exchange.contract.forget?.(prefiller);
  fallBack('prefill', error, exchange, `prefill at ${prefiller} failed, computing here`);
}

async function oneAfterTheOther(
  { asked, legs, onPrefilled }: Attempt,
  exchange: Exchange,
  here: ComputeHere,
): Promise<EngineAnswer | undefined> {
  const { options, contract } = exchange;
  const { prefiller, api } = asked;
  let prefilled: Prefilled;
  try {
    prefilled = await prefill(asked, legs, exchange);
  } catch (error) {
    return leave(error, prefiller, exchange);
  }
  onPrefilled();
  const decodedSince = options.clock.now();
  let decoded: EngineAnswer;
  try {
    decoded = await decode(prefilled.leg, api, exchange);
  } catch (error) {
    // What the prefilling server has answered has no room; without it the request has.
    if (error instanceof Refusal) return leave(error, prefiller, exchange);
    throw error;
  }
  if (decoded.statusCode >= SERVER_ERROR) {
    contract.forget?.(prefiller);
    return fallBackToHere(decoded, exchange, here);
  }
  const passed = contract.countsCached ? withCachedTokens(decoded, api, prefilled.cached) : decoded;
  return { ...passed, decodedSince };
}

interface Prefilled {
  /** The request that the engine gets next. */
  readonly leg: Leg;
  /** The tokens of the prompt that the prefilling server had cached, where they are counted. */
  readonly cached: number;
}

/** Rejects where the prefilling server does not answer, or without what the engine needs. */
async function prefill(
  { prefiller, api }: Asked,
  legs: Legs,
  exchange: Exchange,
): Promise<Prefilled> {
  const { options, contract, bounds, signal } = exchange;
  const limit = { clock: options.clock, limitMs: bounds.prefillTimeoutMs };
  const { prefill: leg, prefillAgain: legAgain = leg } = legs;
  const inTurns = new TurnsReader(signal);
  const answer = await within({ ...limit, signal, what: 'did not answer' }, (own) =>
    postWithRetries({ server: prefiller, leg, legAgain, signal: own }, exchange),
  );
  const transfer = await memberObject(answer, 'kv_transfer_params', inTurns);
  return {
    leg: legs.decode(transfer),
    cached: contract.countsCached ? await cachedTokensIn(answer, api, inTurns) : 0,
  };
}
