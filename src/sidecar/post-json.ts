import type { Agent } from 'undici';

/** The answers hold one token and transfer parameters. */
const ANSWER_BYTES_MAX = 1024 * 1024;

interface JsonPost {
  /** `host:port`. */
  readonly server: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** POSTs JSON and parses the answer. Throws unless it is a 200 with JSON of at most 1 MiB. */
export async function postJson(
  agent: Agent,
  { server, body, ...request }: JsonPost,
): Promise<unknown> {
  const answer = await agent.request({
    ...request,
    signal: request.signal ?? null,
    origin: `http://${server}`,
    method: 'POST',
    body: JSON.stringify(body),
  });
  const bytes = await readBody(answer.body as AsyncIterable<Buffer>, ANSWER_BYTES_MAX);
  if (bytes === undefined) throw new Error(`answered more than ${ANSWER_BYTES_MAX} bytes`);
  if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`);
  return JSON.parse(bytes.toString('utf8'));
}

/** Reads a whole body; undefined, with the rest unread, if it is longer than `bytesMax`. */
export async function readBody(
  stream: AsyncIterable<Buffer>,
  bytesMax: number,
): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > bytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
