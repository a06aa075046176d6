import { type Asked, FIVE_TOKENS, MESSAGES, MODEL, post, raw } from './asked.ts';

type Change = readonly [name: string, body: object, headers?: Readonly<Record<string, string>>];

const usage = { stream_options: { include_usage: true } };
const LONG = 'word '.repeat(2000);
/** Above the simulator's bound on bodies, and below it. */
const [BELOW, ABOVE] = ['x'.repeat(3_000_000), 'x'.repeat(5_000_000)];

/** What is changed in a request for five tokens, for chats and for completions alike. */
const CHANGES: readonly Change[] = [
  ['plain', {}],
  ['streamed', { stream: true }],
  ['streamed with usage', { stream: true, ...usage }],
  ['streamed with usage false', { stream: true, stream_options: { include_usage: false } }],
  [
    'streamed with usage in each chunk',
    { stream: true, stream_options: { include_usage: true, continuous_usage_stats: true } },
  ],
  ['stream options without stream', usage],
  ['stream is a text', { stream: 'yes' }],
  ['stream null', { stream: null }],
  ['one token', { max_tokens: 1 }],
  ['one token streamed', { max_tokens: 1, stream: true }],
  ['forty tokens', { max_tokens: 40 }],
  ['max_tokens 0', { max_tokens: 0 }],
  ['max_tokens -1', { max_tokens: -1 }],
  ['max_tokens null', { max_tokens: null, ignore_eos: false }],
  ['max_tokens is a text', { max_tokens: '5' }],
  ['max_tokens 5.5', { max_tokens: 5.5 }],
  ['max_tokens over the context', { max_tokens: 5000 }],
  ['min_tokens', { min_tokens: 2, max_tokens: 3, ignore_eos: false }],
  ['two answers', { n: 2 }],
  ['two answers streamed', { n: 2, stream: true }],
  ['n 0', { n: 0 }],
  ['temperature -1', { temperature: -1 }],
  ['temperature 3', { temperature: 3 }],
  ['top_p 2', { top_p: 2 }],
  ['a field that nobody knows', { foo: 1 }],
  ['seed', { seed: 3 }],
  ['stop', { stop: ['no such text'] }],
  ['priority', { priority: 3 }],
  ['cache_salt', { cache_salt: 'x' }],
  ['no model', { model: undefined }],
  ['model unknown', { model: 'other' }],
  ['model empty', { model: '' }],
  ['model null', { model: null }],
  ['model 5', { model: 5 }],
  ['model by its alias', { model: 'alias' }],
  ['model by its root', { model: 'base' }],
  ['adapter', { model: 'a' }],
  ['adapter streamed', { model: 'b', stream: true }],
  ...['400', '401', '404', '429', '500', '503', 'abc', '200'].map(
    (status): Change => [`x-return-error: ${status}`, {}, { 'x-return-error': status }],
  ),
  ['x-request-id', {}, { 'x-request-id': 'abc-123' }],
  ['x-request-id streamed', { stream: true }, { 'x-request-id': 'abc-123' }],
  ['x-data-parallel-rank: 0', {}, { 'x-data-parallel-rank': '0' }],
  ['x-data-parallel-rank: 7', {}, { 'x-data-parallel-rank': '7' }],
  ['x-data-parallel-rank: x', {}, { 'x-data-parallel-rank': 'x' }],
  ['authorization', {}, { authorization: 'Bearer x' }],
  ['content-type text/plain', {}, { 'content-type': 'text/plain' }],
  ['cache threshold by header', {}, { 'x-cache-threshold-finish-reason': 'true' }],
  [
    'cache threshold by header, streamed',
    { stream: true },
    { 'x-cache-threshold-finish-reason': 'true' },
  ],
  ['cache threshold', { cache_hit_threshold: 0.9 }],
  ['cache threshold streamed', { cache_hit_threshold: 0.9, stream: true }],
  ['cache threshold 2', { cache_hit_threshold: 2 }],
  ['prefill leg', { kv_transfer_params: prefillLeg() }],
  ['prefill leg streamed', { kv_transfer_params: prefillLeg(), stream: true }],
  ['kv_transfer_params empty', { kv_transfer_params: {} }],
  ['kv_transfer_params null', { kv_transfer_params: null }],
];

function prefillLeg(): object {
  const remote = { remote_engine_id: null, remote_block_ids: null, remote_host: null };
  return { do_remote_decode: true, do_remote_prefill: false, ...remote, remote_port: null };
}

/** Bodies that are no request, at the path of an API. */
function wrongBodies(api: string, path: string): readonly Asked[] {
  const whole = { model: MODEL, messages: MESSAGES, prompt: 'x', max_tokens: 2 };
  const bodies = [
    ['JSON cut off', '{"model":'],
    ['no body', ''],
    ['a list', '[]'],
    ['null', 'null'],
    ['a text', '"x"'],
    ['text behind JSON', `${JSON.stringify(whole)} x`],
  ] as const;
  return bodies.map(([name, body]) => raw(`${api}: ${name}`, path, body));
}

const CHAT = '/v1/chat/completions';

function chat(name: string, body: object, headers?: Readonly<Record<string, string>>): Asked {
  const whole = { model: MODEL, messages: MESSAGES, ...FIVE_TOKENS, ...body };
  return post(`chat: ${name}`, CHAT, whole, headers);
}

function completion(name: string, body: object, headers?: Readonly<Record<string, string>>): Asked {
  const whole = { model: MODEL, prompt: 'hello there my friend', ...FIVE_TOKENS, ...body };
  return post(`completion: ${name}`, '/v1/completions', whole, headers);
}

const saidBy = (role: unknown, content: unknown): object => ({ messages: [{ role, content }] });
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'says the weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};
const tools = { tools: [weather] };
const must = { ...tools, tool_choice: 'required' };
const named = (name: string): object => ({ type: 'function', function: { name } });

const CHATS: readonly Asked[] = [
  ...CHANGES.map(([name, body, headers]) => chat(name, body, headers)),
  ...wrongBodies('chat', CHAT),
  chat('a prompt over the context', saidBy('user', LONG)),
  chat('3 MB', saidBy('user', BELOW)),
  chat('5 MB', saidBy('user', ABOVE)),
  chat('no messages', { messages: undefined }),
  chat('messages empty', { messages: [] }),
  chat('messages are a text', { messages: 'x' }),
  chat('content null', saidBy('user', null)),
  chat('content left out', saidBy('user', undefined)),
  chat('content 5', saidBy('user', 5)),
  chat('content in parts', saidBy('user', [{ type: 'text', text: 'hello' }])),
  chat('an image', saidBy('user', [{ type: 'text', text: 'hello' }, image])),
  chat('a part that nobody knows', saidBy('user', [{ type: 'foo', foo: 'x' }])),
  chat('no role', saidBy(undefined, 'x')),
  chat('a role that nobody knows', saidBy('robot', 'x')),
  chat('max_completion_tokens', { max_tokens: undefined, max_completion_tokens: 3 }),
  chat('max_tokens and max_completion_tokens', { max_tokens: 7, max_completion_tokens: 3 }),
  chat('log probabilities', { logprobs: true, top_logprobs: 2 }),
  chat('log probabilities streamed', { logprobs: true, top_logprobs: 2, stream: true }),
  chat('log probabilities without others', { logprobs: true }),
  chat('50 log probabilities', { logprobs: true, top_logprobs: 50 }),
  chat('tools, one must be called', must),
  chat('tools, one must be called, streamed', { ...must, stream: true }),
  chat('tools, one must be called, streamed with usage', { ...must, stream: true, ...usage }),
  chat('tools, none may be called', { ...tools, tool_choice: 'none' }),
  chat('tools, this one', { ...tools, tool_choice: named('get_weather') }),
  chat('tools, one that is not there', { ...tools, tool_choice: named('nope') }),
  chat('tools empty', { tools: [] }),
  chat('tool_choice without tools', { tool_choice: 'required' }),
  chat('a tool without a name', { tools: [{ type: 'function', function: {} }] }),
  chat('response_format', { response_format: { type: 'json_object' } }),
];

const COMPLETIONS: readonly Asked[] = [
  ...CHANGES.map(([name, body, headers]) => completion(name, body, headers)),
  ...wrongBodies('completion', '/v1/completions'),
  completion('a prompt over the context', { prompt: LONG }),
  completion('3 MB', { prompt: BELOW }),
  completion('5 MB', { prompt: ABOVE }),
  completion('no prompt', { prompt: undefined }),
  completion('prompt empty', { prompt: '' }),
  completion('token ids', { prompt: [1, 2, 3] }),
  completion('two lists of token ids', {
    prompt: [
      [1, 2, 3],
      [4, 5],
    ],
  }),
  completion('two prompts', { prompt: ['a b', 'c d e'] }),
  completion('two prompts streamed', { prompt: ['a b', 'c d e'], stream: true, ...usage }),
  completion('no prompts', { prompt: [] }),
  completion('an empty prompt in a list', { prompt: [''] }),
  completion('an empty list of token ids', { prompt: [[]] }),
  completion('prompt 5', { prompt: 5 }),
  completion('texts and token ids', { prompt: ['a', 1] }),
  completion('a token id below 0', { prompt: [-1] }),
  completion('no max_tokens', { max_tokens: undefined }),
  completion('log probabilities', { logprobs: 2 }),
  completion('log probabilities streamed', { logprobs: 2, stream: true }),
  completion('50 log probabilities', { logprobs: 50 }),
];

/** Requests of the two oldest APIs of generation. */
export const GENERATION: readonly Asked[] = [...CHATS, ...COMPLETIONS];
