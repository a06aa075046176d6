import type { Agent, Dispatcher } from 'undici';

/** Answers of one token, and where something is. */
const ANSWER_BYTES_MAX = 1024 * 1024;

export interface Question {
  /** `host:port`. */
  readonly server: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** Another server's answer to a POST, parsed. Throws when it is no 200, not JSON, or too long. */
export async function ask(agent: Agent, { server, body, ...question }: Question): Promise<unknown> {
  const answer = await agent.request({
    ...question,
    signal: question.signal ?? null,
    origin: `http://${server}`,
    method: 'POST',
    body: JSON.stringify(body),
  });
  const text = await textOf(answer);
  if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`);
  return JSON.parse(text);
}

async function textOf({ body }: Dispatcher.ResponseData): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`answered more than ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
