import { describe, expect, test } from 'vitest';
import { stubPoolForTests } from './stub-pool.ts';

/** llm-d-inference-sim’s `--strict` and its bound on bodies. */

const strict = stubPoolForTests({ strict: true, bodyBytesMax: 2 ** 20 });
const lenient = stubPoolForTests();

interface Answer {
  readonly status: number;
  readonly error: Readonly<Record<string, unknown>> | undefined;
}

async function ask(
  pool: typeof strict,
  body: object,
  { path = '/v1/chat/completions', type = 'application/json; charset=utf-8' } = {},
): Promise<Answer> {
  const prompt = path.endsWith('chat/completions')
    ? { messages: [{ role: 'user', content: 'x' }] }
    : { prompt: 'x' };
  const response = await fetch(pool.url(path), {
    method: 'POST',
    headers: { 'content-type': type },
    body: JSON.stringify({ model: 'm', ...prompt, max_tokens: 8, ...body }),
  });
  const { error } = (await response.json()) as Pick<Answer, 'error'>;
  return { status: response.status, error };
}

const LIMITS: readonly (readonly [body: object, message: string, param: string | null])[] = [
  [{ n: 0 }, 'n must be at least 1, got 0.', null],
  [
    { max_tokens: 0 },
    'max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)',
    'max_tokens',
  ],
  [
    { max_completion_tokens: -1 },
    'max_tokens must be at least 1, got -1. (parameter=max_tokens, value=-1)',
    'max_tokens',
  ],
  [
    { temperature: -0.1 },
    'temperature must be non-negative, got -0.1. (parameter=temperature, value=-0.1)',
    'temperature',
  ],
  [{ top_p: 0 }, 'top_p must be in (0, 1], got 0.0. (parameter=top_p, value=0.0)', 'top_p'],
  [{ presence_penalty: 2.1 }, 'presence_penalty must be in [-2, 2], got 2.1.', null],
  [{ frequency_penalty: -3 }, 'frequency_penalty must be in [-2, 2], got -3.0.', null],
  [{ repetition_penalty: 0 }, 'repetition_penalty must be greater than zero, got 0.0.', null],
  [{ min_p: 2 }, 'min_p must be in [0, 1], got 2.0.', null],
  [{ top_k: -2 }, 'top_k must be 0 (disable), or at least 1, got -2.', null],
  [
    { logprobs: true, top_logprobs: 21 },
    'Requested sample logprobs of 21, which is greater than max allowed: 20 (parameter=logprobs, value=21)',
    'logprobs',
  ],
  [{ min_tokens: 9 }, 'min_tokens must be less than or equal to max_tokens=8, got 9.', null],
  [{ stop: ['a', ''] }, 'stop cannot contain an empty string.', null],
  [{ temperature: 0, n: 2 }, 'n must be 1 when using greedy sampling, got 2.', null],
  [
    { stream_options: { include_usage: true } },
    'Stream options can only be defined when `stream=True`. (parameter=stream_options)',
    'stream_options',
  ],
  [{ tool_choice: 'auto' }, 'When using `tool_choice`, `tools` must be set.', null],
  [{ cache_salt: '' }, "Parameter 'cache_salt' must be a non-empty string if provided.", null],
  [{ temperature: 'cold' }, 'temperature: must be a number', 'temperature'],
];

describe('a strict server', () => {
  test.each(LIMITS)('[B215] refuses %j as vLLM does', async (body, message, param) => {
    const { status, error } = await ask(strict, body);
    expect([status, error]).toEqual([400, { message, type: 'BadRequestError', param, code: 400 }]);
  });

  test('[B215] serves what is at its limits, and other APIs as before', async () => {
    const body = { n: 1, temperature: 0, top_p: 1, presence_penalty: -2, min_p: 0, top_k: -1 };
    expect((await ask(strict, { ...body, min_tokens: 8, stop: ['x'] })).status).toBe(200);
    expect((await ask(strict, { stream_options: {} })).status).toBe(200);
    expect((await ask(strict, body, { path: '/v1/completions' })).status).toBe(200);
    expect((await ask(strict, { logprobs: 21 }, { path: '/v1/completions' })).error).toMatchObject({
      param: 'logprobs',
    });
  });

  test('[B215] refuses bodies of another type, and too long ones with 413', async () => {
    const { status, error } = await ask(strict, {}, { type: 'text/plain' });
    expect([status, error?.['message']]).toEqual([
      400,
      "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed [\"Unsupported Media Type: Only 'application/json' is allowed\"]",
    ]);
    const long = 'x'.repeat(2 ** 20);
    expect((await ask(strict, { user: long })).status).toBe(413);
    expect((await ask(lenient, { user: long })).status).toBe(200);
  });

  test('[B215] refuses what a lenient one serves', async () => {
    expect((await ask(lenient, { temperature: -1 }, { type: 'text/plain' })).status).toBe(200);
  });
});
