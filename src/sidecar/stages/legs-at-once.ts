import type { Readable } from 'node:stream';
import { within } from '../../runtime/clock/deadline.ts';
import type { EngineAnswer } from '../answers/engine-answer.ts';
import type { Asked, Leg, Legs } from '../contracts/kv-contract.ts';
import type { Exchange } from '../exchange/sidecar-parts.ts';
import { StatusError } from '../servers/post-json.ts';
import { forward } from './decode.ts';
import { fallBackToHere, SERVER_ERROR } from './fall-back.ts';

const REFUSED = 400;

interface Attempt {
  readonly asked: Asked;
  readonly legs: Legs;
  readonly onPrefilled: () => void;
}

interface Otherwise {
  readonly here: () => Promise<EngineAnswer>;
  /** Records that the prefilling server has failed. Throws where the client has gone. */
  readonly leave: (error: unknown) => undefined;
}

/**
 * Sends both legs at the same time. The engine's answer counts once the prefill has succeeded, or
 * once it has bytes, which need the KV: until then a failed prefill ends the decode leg, which
 * would wait for KV that never comes. Undefined where the prefilling server fails.
 */
export async function legsAtOnce(
  { asked, legs, onPrefilled }: Attempt,
  exchange: Exchange,
  { here, leave }: Otherwise,
): Promise<EngineAnswer | undefined> {
  const { options, bounds, signal } = exchange;
  const { clock } = options;
  const time = { clock, limitMs: bounds.prefillTimeoutMs, signal, what: 'did not answer' };
  const endPrefill = new AbortController();
  const endDecode = new AbortController();
  let failure: unknown;
  const prefilled = within(time, (own) =>
    runPrefill(asked.prefiller, legs.prefill, AbortSignal.any([own, endPrefill.signal]), exchange),
  ).then(onPrefilled, (error: unknown) => {
    failure = error ?? new Error('failed');
  });
  const decodedSince = clock.now();
  const either = AbortSignal.any([signal, endDecode.signal]);
  const leg = legs.decode(undefined);
  const decoding = forward({ ...leg, body: leg.body.pieces }, exchange, either);
  decoding.catch(() => undefined);
  const failed = prefilled.then(() => failure !== undefined);
  // Headers alone may come before the KV.
  const begun = decoding.then(({ statusCode, body }) =>
    statusCode >= REFUSED ? undefined : firstByte(body),
  );
  begun.catch(() => undefined);
  // A prefill that succeeds leaves the decode leg to come; one that fails ends it.
  const silence = { clock, limitMs: bounds.idleTimeoutMs, signal, what: 'sent nothing' };
  const afterPrefill = failed.then((has) => has || within(silence, () => begun.then(() => false)));
  if (await Promise.race([begun.then(() => false), afterPrefill])) {
    endDecode.abort(new Error('the prefilling server failed'));
    return leave(failure);
  }
  const answer = await decoding;
  if (answer.statusCode < REFUSED) return { ...answer, decodedSince };
  // No server takes the KV any more, so the prefill ends. The refusal is still to be read.
  endPrefill.abort(new Error('the decoding server refused'));
  return answer.statusCode < SERVER_ERROR ? answer : fallBackToHere(answer, exchange, here);
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
