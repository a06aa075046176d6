type Json = Readonly<Record<string, unknown>>;

/** Parts of a message that an encoder turns into something a prompt can hold. */
const MEDIA: ReadonlySet<unknown> = new Set(['image_url', 'audio_url', 'video_url', 'input_audio']);

/** The media in a chat's messages, in order; what comes twice once. */
export function mediaIn({ messages }: Json): readonly Json[] {
  const found = new Map<string, Json>();
  for (const message of objectsIn(messages)) {
    for (const part of objectsIn(message['content'])) {
      const { type } = part;
      if (MEDIA.has(type)) found.set(JSON.stringify([type, part[String(type)]]), part);
    }
  }
  return [...found.values()];
}

/** Has one item encoded, and no more of an answer than must be. */
export function encodeBody({ model }: Json, item: Json): Json {
  const messages = [{ role: 'user', content: [item] }];
  return { model, messages, max_tokens: 1, max_completion_tokens: 1, stream: false };
}

/**
 * The client's own request with where the encoded items are, by their hashes, as encoders have answered. Those that share
 * a storage with the other servers say nothing of it, and then nothing is added.
 */
export function encodedBody(body: Json, answers: readonly Json[]): Json {
  const told = answers.flatMap(({ ec_transfer_params: params }) => objectsIn([params]));
  return told.length === 0 ? body : { ...body, ec_transfer_params: Object.assign({}, ...told) };
}

function objectsIn(value: unknown): readonly Json[] {
  if (!Array.isArray(value)) return [];
  return value.filter((each): each is Json => typeof each === 'object' && each !== null);
}
