import type { Agent } from 'undici';
import { readBody } from './bytes-of.ts';

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
export async function postJson(agent: Agent, { server, body, ...question }: Question): Promise<unknown> {
  const answer = await agent.request({
    ...question,
    signal: question.signal ?? null,
    origin: `http://${server}`,
    method: 'POST',
    body: JSON.stringify(body),
  });
  const bytes = await readBody(answer.body as AsyncIterable<Buffer>, ANSWER_BYTES_MAX);
  if (bytes === undefined) throw new Error(`answered more than ${ANSWER_BYTES_MAX} bytes`);
  if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`);
  return JSON.parse(bytes.toString('utf8'));
}
