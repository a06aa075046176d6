import type { Readable } from 'node:stream';
import { within } from '../../runtime/clock/deadline.ts';
import type { EngineAnswer } from '../answers/engine-answer.ts';
import type { Asked, Leg, Legs } from '../contracts/kv-contract.ts';
import type { Exchange } from '../exchange/sidecar-parts.ts';
import { StatusError } from '../servers/post-json.ts';
import { forward } from './decode.ts';
import { fallBackToHere, SERVER_ERROR } from './fall-back.ts';

const REFUSED = 400;

/** One try to have the prompt computed elsewhere. */
export interface Attempt {
  readonly asked: Asked;
  readonly legs: Legs;
  readonly onPrefilled: () => void;
}

interface Otherwise {
  readonly here: () => Promise<EngineAnswer>;
  /** Records that the prefilling server has failed. Throws where the client has gone. */
  readonly leave: (error: unknown) => undefined;
}

/** A prefill that has failed, with what was thrown. */
interface Failed {
  readonly error: unknown;
}

/**
 * Sends both legs at the same time. The engine's answer counts once the prefill has succeeded, or
 * once it has bytes, which need the KV: until then a failed prefill ends the decode leg, which
 * would wait for KV that never comes. Undefined where the prefilling server fails.
 */
export async function legsAtOnce(
  attempt: Attempt,
  exchange: Exchange,
  { here, leave }: Otherwise,
): Promise<EngineAnswer | undefined> {
  const endPrefill = new AbortController();
  const endDecode = new AbortController();
  const failure = prefillFailure(attempt, exchange, endPrefill.signal);
  const decodedSince = exchange.options.clock.now();
  const decoding = beginDecode(attempt.legs, exchange, endDecode.signal);
  const failed = await failedBeforeBytes(failure, decoding, exchange);
  if (failed !== undefined) {
    endDecode.abort(new Error('the prefilling server failed'));
    return leave(failed.error);
  }
  const answer = await decoding;
  if (answer.statusCode < REFUSED) return { ...answer, decodedSince };
  // No server takes the KV any more, so the prefill ends. The refusal is still to be read.
  endPrefill.abort(new Error('the decoding server refused'));
  return answer.statusCode < SERVER_ERROR ? answer : fallBackToHere(answer, exchange, here);
}

/** Sends the prefill leg. Resolves when it has failed, or with undefined when it has succeeded. */
function prefillFailure(
  { asked, legs, onPrefilled }: Attempt,
  exchange: Exchange,
  ended: AbortSignal,
): Promise<Failed | undefined> {
  const { options, bounds, signal } = exchange;
  const time = { clock: options.clock, limitMs: bounds.prefillTimeoutMs, signal };
  return within({ ...time, what: 'did not answer' }, (own) =>
    runPrefill(asked.prefiller, legs.prefill, AbortSignal.any([own, ended]), exchange),
  ).then(
    () => {
      onPrefilled();
      return undefined;
    },
    (error: unknown) => ({ error }),
  );
}

/** Sends the decode leg. Nobody may be waiting for it when it fails. */
function beginDecode(legs: Legs, exchange: Exchange, ended: AbortSignal): Promise<EngineAnswer> {
  const leg = legs.decode(undefined);
  const either = AbortSignal.any([exchange.signal, ended]);
  const decoding = forward({ ...leg, body: leg.body.pieces }, exchange, either);
  decoding.catch(() => undefined);
  return decoding;
}

/**
 * Resolves when the prefill has failed, or with undefined when the engine's answer counts: it has
 * bytes or a refusal. A prefill that succeeds leaves the decode leg to come, as long as that is not
 * silent.
 */
async function failedBeforeBytes(
  failure: Promise<Failed | undefined>,
  decoding: Promise<EngineAnswer>,
  { options, bounds, signal }: Exchange,
): Promise<Failed | undefined> {
  // Headers alone may come before the KV.
  const begun = decoding.then(async ({ statusCode, body }) => {
    if (statusCode < REFUSED) await firstByte(body);
    return undefined;
  });
  begun.catch(() => undefined);
  const { clock } = options;
  const silence = { clock, limitMs: bounds.idleTimeoutMs, signal, what: 'sent nothing' };
  const afterPrefill = failure.then((failed) => failed ?? within(silence, () => begun));
  return Promise.race([begun, afterPrefill]);
}

/** Resolves when the whole answer of the prefilling server is there; it is not used. */
async function runPrefill(
  server: string,
  leg: Leg,
  signal: AbortSignal,
  { upstreams, headers, request }: Exchange,
): Promise<void> {
  const answer = await upstreams.request('prefiller', {
    server,
    path: request.url ?? '/',
    method: 'POST',
    headers: { ...headers, ...leg.headers },
    body: leg.body.pieces,
    signal,
  });
  if (answer.statusCode < 200 || answer.statusCode >= 300) {
    answer.body.on('error', () => undefined).destroy();
    throw new StatusError(answer.statusCode);
  }
  for await (const _chunk of answer.body) continue;
}

/** Resolves when there is something to read, or the end; rejects where the body breaks off. */
function firstByte(body: Readable): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (done: () => void) => (): void => {
      body.off('readable', readable).off('error', broken).off('end', readable);
      done();
    };
    const readable = settle(resolve);
    const broken = (error: Error): void => settle(() => reject(error))();
    body.once('readable', readable).once('error', broken).once('end', readable);
  });
}
