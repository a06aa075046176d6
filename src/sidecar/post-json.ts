import { type Json, objectIn } from './client-body.ts';
import type { UpstreamRole } from './sidecar-options.ts';
import type { Upstreams } from './upstreams.ts';

/** The answers hold one token and transfer parameters. */
const ANSWER_BYTES_MAX = 1024 * 1024;

interface JsonPost {
  /** `host:port`. */
  readonly server: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly signal: AbortSignal;
}

/**
 * POSTs JSON and parses the answer. Throws unless it is a 200 with a JSON object of at most 1 MiB;
 * a redirect is not followed.
 */
export async function postJson(
  upstreams: Upstreams,
  role: UpstreamRole,
  { body, ...request }: JsonPost,
): Promise<Json> {
  const answer = await upstreams.request(role, {
    ...request,
    method: 'POST',
    headers: { ...request.headers, 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(body)),
  });
  if (answer.statusCode !== 200) {
    // Leaving a body unread would keep the connection busy.
    answer.body.on('error', () => undefined).destroy();
    throw new Error(`answered ${answer.statusCode}`);
  }
  const json = objectIn(await readAnswer(answer.body as AsyncIterable<Buffer>));
  if (json === undefined) throw new Error('answered no JSON object');
  return json;
}

async function readAnswer(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`answered more than ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
