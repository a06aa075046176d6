import { Readable } from 'node:stream';
import { elementsOf, memberOf, valueOf } from '../../openai/json/json-members.ts';
import { within } from '../../runtime/clock/deadline.ts';
import { type EngineAnswer, eventIn, isEventStream, isPlain } from '../answers/engine-answer.ts';
import { isJsonObject } from '../body/client-body.ts';
import type { Exchange } from '../exchange/sidecar-parts.ts';

/**
 * The `finish_reason` of an engine that has less of the prompt cached than the request asks for.
 */
const TOO_LITTLE = 'cache_threshold';
/** The first event that says something is looked for in so many bytes from the beginning. */
const LOOKED_AT_BYTES_MAX = 64 * 1024;

/**
 * The answer of an engine that was to answer only from its cache, from its first byte on; undefined
 * where too little was cached. It waits for the first event that says whether enough was cached.
 * Rejects where the engine is silent for too long.
 */
export async function answeredFromCache(
  answer: EngineAnswer,
  { options, bounds, signal }: Pick<Exchange, 'options' | 'bounds' | 'signal'>,
): Promise<EngineAnswer | undefined> {
  if (answer.statusCode >= 400 || !isPlain(answer)) return answer;
  const streamed = isEventStream(answer);
  const chunks = answer.body[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
  let seen: Buffer = Buffer.alloc(0);
  const limitMs = bounds.idleTimeoutMs;
  const silence = { clock: options.clock, limitMs, signal, what: 'sent nothing' };
  for (;;) {
    const next = await within(silence, () => chunks.next());
    if (next.done !== true) seen = Buffer.concat([seen, next.value]);
    const known = streamed ? verdictOfEvents(seen) : next.done === true && verdictOf(seen);
    if (known === TOO_LITTLE) {
      answer.body.on('error', () => undefined).destroy();
      return undefined;
    }
    const enough = next.done === true || seen.length > LOOKED_AT_BYTES_MAX;
    if (enough || (streamed && known !== undefined)) break;
  }
  return { ...answer, body: Readable.from(rest(seen, chunks), { objectMode: false }) };
}

async function* rest(seen: Buffer, chunks: AsyncIterator<Buffer, undefined>) {
  if (seen.length > 0) yield seen;
  try {
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
      yield next.value;
    }
  } finally {
    // The client may leave before the end.
    await chunks.return?.();
  }
}

/** Why the answer ended, or that it goes on; undefined while no whole event says that. */
function verdictOfEvents(seen: Buffer): string | undefined {
  for (const line of seen
    .subarray(0, seen.lastIndexOf(0x0a) + 1)
    .toString()
    .split('\n')) {
    const event = eventIn(Buffer.from(line));
    const verdict = event && verdictOf(event);
    if (verdict !== undefined) return verdict;
  }
  return undefined;
}

function verdictOf(json: Buffer): string | undefined {
  if (!isJsonObject(json)) return undefined;
  const [choice] = elementsOf(memberOf(json, 'choices') ?? Buffer.from('[]'), 1);
  if (choice === undefined || !isJsonObject(choice)) return undefined;
  const reason = valueOf(choice, 'finish_reason');
  if (typeof reason === 'string') return reason;
  const delta = memberOf(choice, 'delta');
  // The first event of a chat has no text and says nothing yet.
  const text = delta === undefined ? valueOf(choice, 'text') : valueOf(delta, 'content');
  return typeof text === 'string' && text !== '' ? 'goes on' : undefined;
}
