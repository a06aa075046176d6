import type { Agent } from 'undici';
import { postJson } from './post-json.ts';
import { encodeBody, encodedBody, mediaIn } from './encode-legs.ts';

/** More of them in one request, and none is sent anywhere: each is a request of its own. */
const ITEMS_MAX = 256;
const PATH = '/v1/chat/completions';

export interface EncodeOptions {
  readonly agent: Agent;
  /** `host:port` each, taken in turn. */
  readonly encoders: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly requestId: string;
}

/**
 * The body with where its media were encoded, one request for each item, all at once; undefined where it has none. Throws
 * at the first that fails, the others cut off.
 */
export async function encodeMedia(
  body: Buffer,
  { agent, encoders, headers, requestId }: EncodeOptions,
): Promise<Buffer | undefined> {
  const asked = JSON.parse(body.toString('utf8')) as Record<string, unknown>;
  const items = mediaIn(asked);
  if (items.length === 0) return undefined;
  if (items.length > ITEMS_MAX) throw new Error(`${items.length} items, more than ${ITEMS_MAX}`);
  const stop = new AbortController();
  try {
    const answers = await Promise.all(
      items.map((item, index) =>
        postJson(agent, {
          server: encoders[index % encoders.length] ?? '',
          path: PATH,
          headers: { ...headers, 'x-request-id': `${requestId}-enc-${index}` },
          body: encodeBody(asked, item),
          signal: stop.signal,
        }),
      ),
    );
    return Buffer.from(JSON.stringify(encodedBody(asked, answers.map(asObject))));
  } catch (error) {
    stop.abort();
    throw error;
  }
}

function asObject(answer: unknown): Record<string, unknown> {
  return typeof answer === 'object' && answer !== null ? { ...answer } : {};
}
