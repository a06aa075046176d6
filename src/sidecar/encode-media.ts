import type { Json } from './client-body.ts';
import { postJson } from './post-json.ts';
import type { Upstreams } from './upstreams.ts';

interface EncodeOptions {
  readonly upstreams: Upstreams;
  /** `host:port` each; items go to them in turn. */
  readonly encoders: readonly string[];
  /** With `x-request-id`, which gets a suffix for each item. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Each item is a request of its own; a body with more items is not encoded elsewhere. */
const ITEMS_MAX = 256;
const PATH = '/v1/chat/completions';
/** The header whose value all requests for a client's request share. */
export const REQUEST_ID = 'x-request-id';
/** Types of message parts that an encoder turns into embeddings. */
const MEDIA: ReadonlySet<unknown> = new Set(['image_url', 'audio_url', 'video_url', 'input_audio']);

/** Undefined without media. Throws at the first failure, and aborts the other requests. */
export async function encodeMedia(
  chat: Json,
  { upstreams, encoders, headers, signal }: EncodeOptions,
): Promise<Json | undefined> {
  const items = mediaIn(chat);
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
    return withTransferParams(chat, answers);
  } catch (error) {
    stop.abort();
    throw error;
  }
}

/** The media parts of all messages in order, without duplicates. */
function mediaIn({ messages }: Json): readonly Json[] {
  const found = new Map<string, Json>();
  for (const message of objectsIn(messages)) {
    for (const part of objectsIn(message['content'])) {
      const { type } = part;
      if (MEDIA.has(type)) found.set(JSON.stringify([type, part[String(type)]]), part);
    }
  }
  return [...found.values()];
}

/** A request that encodes one item and generates as little as possible. */
function encodeRequest({ model }: Json, item: Json): Json {
  const messages = [{ role: 'user', content: [item] }];
  return { model, messages, max_tokens: 1, max_completion_tokens: 1, stream: false };
}

/** By item hash. Encoders that share storage with the decoding server return none. */
function withTransferParams(chat: Json, answers: readonly Json[]): Json {
  const params = objectsIn(answers.map((answer) => answer['ec_transfer_params']));
  return params.length === 0 ? chat : { ...chat, ec_transfer_params: Object.assign({}, ...params) };
}

function objectsIn(value: unknown): readonly Json[] {
  if (!Array.isArray(value)) return [];
  return value.filter((each): each is Json => typeof each === 'object' && each !== null);
}
