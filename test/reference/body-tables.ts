/**
 * Bodies by what the reference picker's parsers do with them, as its tests and their rules have it.
 * `ours` says what is otherwise here, and why.
 */
export interface BodyCase {
  readonly what: string;
  readonly path: string;
  readonly body: string;
  readonly reference: 'passes' | 'refuses';
  readonly ours?: string;
}

type Row = readonly [what: string, body: string | object, ours?: string];

const JUDGED = 'passes: the model server judges it';
const BOUNDED = 'refuses: it is over a bound';
const [COMPLETIONS, CHAT, EMBEDDINGS] = [
  '/v1/completions',
  '/v1/chat/completions',
  '/v1/embeddings',
];

function cases(
  path: string,
  reference: BodyCase['reference'],
  rows: readonly Row[],
): readonly BodyCase[] {
  return rows.map(([what, body, ours]) => ({
    what,
    path,
    body: typeof body === 'string' ? body : JSON.stringify({ model: 'm', ...body }),
    reference,
    ...(ours !== undefined && { ours }),
  }));
}

const completion = (field: string): string => `{"model":"m","prompt":"x",${field}}`;
const chat = (message: object, more: object = {}): object => ({
  messages: [{ role: 'user', content: 'x', ...message }],
  ...more,
});
const nested = (depth: number): string =>
  completion(`"a":${'['.repeat(depth)}${']'.repeat(depth)}`);

export const BODIES: readonly BodyCase[] = [
  ...cases(COMPLETIONS, 'passes', [
    ['a text', { prompt: 'x' }],
    ['texts', { prompt: ['a', 'b'] }],
    ['an empty text in a list', { prompt: [''] }],
    ['token ids', { prompt: [1, 2, 3] }],
    ['two models: the last counts', '{"model":"a","prompt":"x","model":"b"}'],
    ['a name of white space', { model: ' ', prompt: 'x' }],
    ['a name of 600 bytes', { model: 'm'.repeat(600), prompt: 'x' }, BOUNDED],
    ['white space around', ' \r\n\t{"model":"m","prompt":"x"}\n'],
    ['half a surrogate pair', String.raw`{"model":"m","prompt":"\ud83d"}`],
    ['a long number', completion('"seed":123456789012345678901234567890')],
    ['100 levels', nested(100)],
    ['500 levels', nested(500), BOUNDED],
    ['a stream by text', completion('"stream":"true"')],
    ['a stream by number', completion('"stream":1')],
    ['no limit by -1', completion('"max_tokens":-1')],
    ['a limit by text', completion('"max_tokens":"100"')],
    ['half a token', completion('"max_tokens":1.5')],
    ['a prompt in another case', '{"model":"m","Prompt":"x"}', 'refuses: no API has it so'],
    ['options and several answers', completion('"n":2,"stream":true,"stream_options":{}')],
  ]),
  ...cases(COMPLETIONS, 'refuses', [
    ['no prompt', {}],
    ['null', { prompt: null }],
    ['a number', { prompt: 123 }],
    ['an object', { prompt: {} }],
    ['an empty list', { prompt: [] }],
    ['an empty text', { prompt: '' }, JUDGED],
    ['lists of token ids', { prompt: [[1, 2], [3]] }, JUDGED],
    ['texts and ids', { prompt: ['a', 1] }, JUDGED],
    ['half an id', { prompt: [1.5] }, JUDGED],
    ['a negative id', { prompt: [-1] }, JUDGED],
    ['an id over 32 bits', { prompt: [4_294_967_296] }, JUDGED],
    ['null in a list', { prompt: [null] }, JUDGED],
    ['embeddings only', { prompt_embeds: 'abc' }, JUDGED],
    ['a salt that is no text', { prompt: 'x', cache_salt: 5 }, JUDGED],
    ['no model', '{"prompt":"x"}'],
    ['a model that is null', '{"model":null,"prompt":"x"}'],
    ['a model that is a number', '{"model":1,"prompt":"x"}'],
    ['an empty model', '{"model":"","prompt":"x"}'],
    ['another case', '{"Model":"m","prompt":"x"}'],
    ['nothing', ''],
    ['words', 'no healthy upstream'],
    ['a list', '[]'],
    ['a text', '"x"'],
    ['a byte order mark', '\ufeff{"model":"m","prompt":"x"}'],
    ['more behind', '{"model":"m","prompt":"x"}x'],
    ['half', '{"model":"m","prompt":"x"'],
    ['not a number', completion('"t":NaN')],
    ['a comma too many', '{"model":"m","prompt":"x",}'],
    ['a leading zero', completion('"seed":01')],
    ['a line feed in a text', '{"model":"m","prompt":"a\nb"}'],
    ['an unknown escape', String.raw`{"model":"m","prompt":"\x"}`],
  ]),
  ...cases(CHAT, 'passes', [
    ['a message', chat({})],
    ['an unknown role', chat({ role: 'wizard' })],
    ['no role', { messages: [{ content: 'x' }] }],
    ['no content', { messages: [{ role: 'assistant', tool_calls: [] }] }],
    ['content null beside calls', chat({ content: null, tool_calls: [{ id: 'c' }] })],
    ['no parts', chat({ content: [] })],
    ['a part of another type', chat({ content: [{ type: 'file', file: { file_id: 'f' } }] })],
    ['tools null', chat({}, { tools: null })],
    ['two limits', chat({}, { max_tokens: 5, max_completion_tokens: 7 })],
  ]),
  ...cases(CHAT, 'refuses', [
    ['no messages', {}],
    ['messages by text', { messages: 'x' }],
    ['an empty list', { messages: [] }],
    ['messages null', { messages: null }],
    ['a number as a role', chat({ role: 123 }), JUDGED],
    ['a number as content', chat({ content: 123 }), JUDGED],
    ['texts as parts', chat({ content: ['a'] }), JUDGED],
    ['tools by text', chat({}, { tools: 'x' }), JUDGED],
    ['a template by number', chat({}, { chat_template: 123 }), JUDGED],
  ]),
  ...cases(EMBEDDINGS, 'passes', [
    ['a text', { input: 'x' }],
    ['texts', { input: ['a', 'b'] }],
    ['ids', { input: [1, 2] }],
  ]),
  ...cases(EMBEDDINGS, 'refuses', [
    ['no input', {}],
    ['null', { input: null }],
    ['an object', { input: {} }],
    ['an empty list', { input: [] }],
    ['an empty text', { input: '' }, JUDGED],
    ['lists of ids', { input: [[1], [2]] }, JUDGED],
  ]),
  ...cases('/v1/responses', 'passes', [
    ['a text', { input: 'x' }],
    ['an empty text', { input: '' }],
    ['items', { input: [{ role: 'user', content: [{ type: 'input_text', text: 'x' }] }] }],
    ['no items', { input: [], previous_response_id: 'r' }],
    ['a number', { input: 5 }, 'refuses: no model server takes it'],
  ]),
  ...cases('/v1/responses', 'refuses', [
    ['no input', { previous_response_id: 'r' }],
    ['null', { input: null }],
  ]),
  ...cases('/v1/conversations', 'passes', [['items', { items: [{ type: 'message' }] }]]),
  ...cases('/v1/conversations', 'refuses', [
    ['no items', { items: [] }],
    ['no model', '{"items":[{"type":"message"}]}', JUDGED],
  ]),
  ...cases('/v1/images/generations', 'passes', [['a prompt', { prompt: 'x' }]]),
  ...cases('/v1/images/generations', 'refuses', [
    ['no prompt', {}],
    ['an empty prompt', { prompt: '' }, JUDGED],
    ['no model', '{"prompt":"x"}', JUDGED],
  ]),
  ...cases('/v1/messages', 'passes', [
    ['a message', { max_tokens: 5, messages: [{ role: 'user', content: 'x' }] }],
    ['parts', { system: [{ type: 'text', text: 's' }], messages: [{ role: 'user', content: [] }] }],
  ]),
  ...cases('/v1/messages', 'refuses', [
    ['no messages', {}],
    ['an empty list', { messages: [] }],
    ['no model', '{"messages":[{"role":"user","content":"x"}]}'],
  ]),
  ...cases('/v1/messages/count_tokens', 'passes', [['anything', 'no JSON']]),
  ...cases('/inference/v1/generate', 'passes', [['ids', { token_ids: [1, 2] }]]),
  ...cases('/inference/v1/generate', 'refuses', [
    ['no ids', {}],
    ['an empty list', { token_ids: [] }],
    ['half an id', { token_ids: [1.5] }, JUDGED],
    ['no model', '{"token_ids":[1]}', JUDGED],
  ]),
  ...cases('/generate', 'passes', [
    ['ids', '{"input_ids":[1,2]}'],
    ['a text', '{"text":"x"}'],
    ['another server’s', '{"inputs":"x","parameters":{"max_new_tokens":5}}'],
    ['no JSON', 'no JSON', 'refuses: SGLang’s API is read without its parser, too'],
  ]),
  ...cases('/v1/audio/speech', 'passes', [
    ['a text', { input: 'x', voice: 'alloy' }],
    ['an empty text', { input: '' }],
    ['no model', '{"input":"x"}'],
  ]),
  ...cases('/v1/audio/speech', 'refuses', [
    ['no text', {}],
    ['a text that is null', { input: null }],
    ['a list', { input: ['x'] }],
    ['no JSON', 'no JSON'],
  ]),
  ...cases('/v1/rerank', 'passes', [
    ['a query', { query: 'q', documents: ['a', 'b'] }],
    ['anything', '{}'],
    ['no JSON', 'no JSON', 'refuses: it is read without a parser for it'],
  ]),
  ...cases('/tokenize', 'passes', [['anything', 'no JSON']]),
];
