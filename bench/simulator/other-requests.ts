import { type Asked, FIVE_TOKENS, get, MESSAGES, MODEL, post, raw } from './asked.ts';

const PATHS = [
  '/health /health/ready /ready /ping /version /v1/models /is_sleeping /metrics',
  '/nope /v1/nope / /v1/chat/completions /tokenize',
].flatMap((line) => line.split(' '));

const said = (type: string): object => ({
  type: 'message',
  role: 'user',
  content: [{ type, text: 'hello' }],
});
const input = { model: MODEL, max_output_tokens: 5, input: [said('input_text')] };
const messages = { model: MODEL, messages: MESSAGES, max_tokens: 5 };
const tool = { name: 'weather', input_schema: { type: 'object', properties: {} } };
const tokens = { model: MODEL, token_ids: [1, 2, 3], sampling_params: { max_tokens: 4 } };

/** Both whole and as events. */
function both(name: string, path: string, body: object): readonly Asked[] {
  return [post(name, path, body), post(`${name} streamed`, path, { ...body, stream: true })];
}

const RESPONSES = '/v1/responses';
const MESSAGES_PATH = '/v1/messages';
const GENERATE = '/inference/v1/generate';

const NEWER_APIS: readonly Asked[] = [
  ...both('responses', RESPONSES, input),
  ...both('responses: a text', RESPONSES, { ...input, input: 'hello' }),
  post('responses: instructions', RESPONSES, { ...input, instructions: 'be kind' }),
  post('responses: no input', RESPONSES, { model: MODEL }),
  post('responses: model unknown', RESPONSES, { ...input, model: 'other' }),
  ...both('messages', MESSAGES_PATH, messages),
  ...both('messages: tools', MESSAGES_PATH, {
    ...messages,
    tools: [tool],
    tool_choice: { type: 'any' },
  }),
  post('messages: system', MESSAGES_PATH, { ...messages, system: 'be kind' }),
  post('messages: no max_tokens', MESSAGES_PATH, { model: MODEL, messages: MESSAGES }),
  post('messages: model unknown', MESSAGES_PATH, { ...messages, model: 'other' }),
  post('messages: messages are a text', MESSAGES_PATH, { ...messages, messages: 'x' }),
  ...both('generate', GENERATE, tokens),
  post('generate: prefill leg', GENERATE, {
    ...tokens,
    kv_transfer_params: { do_remote_decode: true },
  }),
  post('generate: no token ids', GENERATE, { model: MODEL, sampling_params: {} }),
];

const embed = (name: string, body: object): Asked =>
  post(`embeddings: ${name}`, '/v1/embeddings', { model: MODEL, dimensions: 4, ...body });

const EMBEDDINGS: readonly Asked[] = [
  embed('a text', { input: 'hello' }),
  embed('texts', { input: ['hello', 'you'] }),
  embed('token ids', { input: [1, 2] }),
  embed('lists of token ids', { input: [[1, 2], [3]] }),
  embed('base64', { input: 'hello', encoding_format: 'base64' }),
  embed('a format that nobody knows', { input: 'hello', encoding_format: 'other' }),
  embed('their own size', { input: 'hello', dimensions: undefined }),
  embed('dimensions 0', { input: 'hello', dimensions: 0 }),
  embed('input empty', { input: '' }),
  embed('no inputs', { input: [] }),
  embed('no input', {}),
  embed('model unknown', { input: 'hello', model: 'other' }),
];

const url = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };

const TOKENS: readonly Asked[] = [
  post('tokenize: prompt', '/tokenize', { model: MODEL, prompt: 'hello there' }),
  post('tokenize: messages', '/tokenize', { model: MODEL, messages: MESSAGES }),
  post('tokenize: neither', '/tokenize', { model: MODEL }),
  post('tokenize: no model', '/tokenize', { prompt: 'x' }),
  post('tokenize: model unknown', '/tokenize', { model: 'other', prompt: 'x' }),
  post('render: completion', '/v1/completions/render', { model: MODEL, prompt: 'hello there' }),
  post('render: two prompts', '/v1/completions/render', { model: MODEL, prompt: ['a', 'b'] }),
  post('render: token ids', '/v1/completions/render', { model: MODEL, prompt: [1, 2, 3] }),
  post('render: no prompt', '/v1/completions/render', { model: MODEL }),
  post('render: chat', '/v1/chat/completions/render', { model: MODEL, messages: MESSAGES }),
  post('render: chat with an image', '/v1/chat/completions/render', {
    model: MODEL,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, url] }],
  }),
  post('render: model unknown', '/v1/completions/render', { model: 'other', prompt: 'x' }),
];

const load = (name: string, body: object): Asked => post(name, '/v1/load_lora_adapter', body);
const unload = (name: string, body: object): Asked => post(name, '/v1/unload_lora_adapter', body);
const named = { lora_name: 'c', lora_path: '/p/c' };
const chatOf = (name: string, model: string): Asked =>
  post(name, '/v1/chat/completions', { model, messages: MESSAGES, ...FIVE_TOKENS });

/** In this order: each depends on those before. */
const ADMINISTRATION: readonly Asked[] = [
  load('load an adapter', named),
  load('load it again', named),
  chatOf('chat with it', 'c'),
  get('/v1/models', 'models with it'),
  unload('unload it', { lora_name: 'c' }),
  unload('unload it again', { lora_name: 'c' }),
  chatOf('chat without it', 'c'),
  load('load without a name', {}),
  load('load without a path', { lora_name: 'd' }),
  unload('unload that', { lora_name: 'd' }),
  raw('load with JSON cut off', '/v1/load_lora_adapter', '{'),
  raw('sleep', '/sleep', ''),
  get('/is_sleeping', 'asleep?'),
  chatOf('chat asleep', MODEL),
  raw('wake the weights', '/wake_up?tags=weights', ''),
  get('/is_sleeping', 'asleep with weights?'),
  raw('wake up', '/wake_up', ''),
  get('/is_sleeping', 'awake?'),
  chatOf('chat awake', MODEL),
  get('/admin/config', 'settings'),
  post('change a setting', '/admin/config', { 'time-to-first-token': '1ms' }),
  post('change a setting that is not there', '/admin/config', { foo: 1 }),
  post('change a setting beyond its bound', '/admin/config', { 'failure-injection-rate': 200 }),
  get('/metrics', 'metrics at the end'),
];

/** Requests of all other APIs. */
export const OTHERS: readonly Asked[] = [
  ...PATHS.map((path) => get(path)),
  { name: 'DELETE a chat', method: 'DELETE', path: '/v1/chat/completions' },
  ...NEWER_APIS,
  ...EMBEDDINGS,
  ...TOKENS,
  ...ADMINISTRATION,
];
