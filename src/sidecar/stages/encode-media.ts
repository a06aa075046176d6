import { createHash } from 'node:crypto';
import { JsonObject } from '../../openai/json/json-object.ts';
import { within } from '../../runtime/clock/deadline.ts';
import { memberObject, TurnsReader } from '../body/read-in-turns.ts';
import { HIT_THRESHOLD } from '../contracts/shared-storage.ts';
import type { Exchange } from '../exchange/sidecar-parts.ts';
import { postJson } from '../servers/post-json.ts';
import type { LegSender } from '../servers/upstreams.ts';
import { fallBack } from './fall-back.ts';

interface EncodeOptions {
  readonly upstreams: LegSender;
  /** `host:port` each; items go to them in turn. */
  readonly encoders: readonly string[];
  /** With `x-request-id`, which gets a suffix for each item. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the request takes on where the results are, which the answers say. */
  readonly collects: boolean;
  readonly signal: AbortSignal;
}

/** Each item is a request of its own; a body with more items is not encoded elsewhere. */
const ITEMS_MAX = 256;
const PATH = '/v1/chat/completions';
/** The header whose value all requests for a client's request share. */
export const REQUEST_ID = 'x-request-id';
/** Types of message parts that an encoder turns into embeddings. */
const MEDIA: ReadonlySet<unknown> = new Set(['image_url', 'audio_url', 'video_url', 'input_audio']);
/** Fields of the client's request that change what an encoder makes of an item. */
const KEPT: readonly string[] = ['model', 'mm_processor_kwargs'];

/** Undefined without media. Rejects at the first failure, and aborts the other requests. */
async function encodeMedia(
  chat: JsonObject,
  { upstreams, encoders, headers, collects, signal }: EncodeOptions,
): Promise<JsonObject | undefined> {
  const inTurns = new TurnsReader(signal);
  const items = await mediaIn(chat, inTurns);
  if (items.length === 0) return undefined;
  if (items.length > ITEMS_MAX) throw new Error(`${items.length} items, more than ${ITEMS_MAX}`);
  const requestId = headers[REQUEST_ID] ?? '';
  const stop = new AbortController();
  try {
    const answers = await Promise.all(
      items.map((item, index) =>
        postJson(upstreams, 'encoder', {
          server: encoders[index % encoders.length] ?? '',
          path: PATH,
          headers: { ...headers, [REQUEST_ID]: `${requestId}-enc-${index}` },
          body: encodeRequest(chat, item),
          signal: AbortSignal.any([signal, stop.signal]),
        }),
      ),
    );
    return collects ? await withTransferParams(chat, answers, inTurns) : chat;
  } catch (error) {
    stop.abort();
    throw error;
  }
}

/** More messages, or parts of one, than any chat has; what is behind them is left to the engine. */
const PARTS_MAX = 10_000;

/** The media parts of all messages in order, in their bytes, without duplicates. */
async function mediaIn(chat: JsonObject, inTurns: TurnsReader): Promise<readonly Buffer[]> {
  const found = new Map<string, Buffer>();
  for (const text of await inTurns.elementsOf(chat.member('messages') ?? EMPTY, PARTS_MAX)) {
    const message = await inTurns.objectIn(text);
    for (const part of await inTurns.elementsOf(message?.member('content') ?? EMPTY, PARTS_MAX)) {
      const object = await inTurns.objectIn(part);
      const type = object && typeOf(object);
      if (type === undefined || !MEDIA.has(type)) continue;
      const hash = await inTurns.hash(object?.member(type) ?? EMPTY, createHash('sha256'));
      found.set(`${type} ${hash.digest('base64')}`, part);
    }
  }
  return [...found.values()];
}

const EMPTY = Buffer.from('[]');
const QUOTE = 0x22;
/** More than the longest type takes, with each of its characters escaped. */
const TYPE_BYTES_MAX = 100;

function typeOf(part: JsonObject): string | undefined {
  const type = part.member('type');
  if (type?.[0] !== QUOTE || type.length > TYPE_BYTES_MAX) return undefined;
  return JSON.parse(type.toString('utf8')) as string;
}

/** A request that encodes one item and generates as little as possible. */
function encodeRequest(chat: JsonObject, item: Buffer): readonly Buffer[] {
  const kept = KEPT.map((name) => [name, chat.member(name)] as const);
  return JsonObject.EMPTY.with({
    ...Object.fromEntries(kept),
    messages: [Buffer.from('[{"role":"user","content":['), item, Buffer.from(']}]')],
    max_tokens: '1',
    max_completion_tokens: '1',
    stream: 'false',
  }).pieces;
}

/** By item hash. Encoders that share storage with the decoding server return none. */
async function withTransferParams(
  chat: JsonObject,
  answers: readonly JsonObject[],
  inTurns: TurnsReader,
): Promise<JsonObject> {
  const params: (readonly [name: string, value: Buffer])[] = [];
  for (const answer of answers) {
    const found = await memberObject(answer, 'ec_transfer_params', inTurns);
    params.push(...(found?.entries ?? []));
  }
  if (params.length === 0) return chat;
  const merged = JsonObject.EMPTY.with(Object.fromEntries(params));
  return chat.with({ ec_transfer_params: merged });
}

/** The body with its encoders' answers; unchanged if it has no media or an encoder fails. */
export async function encodedElsewhere(
  body: JsonObject,
  encoders: readonly string[],
  exchange: Exchange,
): Promise<JsonObject> {
  const { headers, upstreams, options, metrics, contract } = exchange;
  const { encodeTimeoutMs: limitMs } = exchange.bounds;
  const { clock, ecConnector } = options;
  const time = { clock, limitMs, signal: exchange.signal, what: 'did not all answer' };
  const begun = clock.now();
  try {
    const collects = ecConnector !== 'ec-example';
    const work = (signal: AbortSignal): Promise<JsonObject | undefined> =>
      encodeMedia(body, { upstreams, encoders, headers, collects, signal });
    const sent = await within(time, work);
    if (sent === undefined) return body;
    metrics.onStage('encode', 'done');
    metrics.onDuration('encode', clock.now() - begun);
    // Nothing of the media is cached where the answer is decoded.
    return contract.decodesFirst ? sent.with({ [HIT_THRESHOLD]: '0' }) : sent;
  } catch (error) {
    fallBack('encode', error, exchange, `encode at ${encoders.join(', ')} failed, encoding here`);
    return body;
  }
}
