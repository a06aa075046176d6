/** Requests that an agent sends in the middle of a loop with tools, by API, and what chats have of them. */

type Json = Readonly<Record<string, unknown>>;

/** As Anthropic's client sends it, in the middle of a loop with tools. */
export const MESSAGES_AGENT: Json = {
  model: 'm',
  max_tokens: 64,
  stream: true,
  system: [
    { type: 'text', text: 'x-anthropic-billing-header: cch=1f2e;' },
    { type: 'text', text: 'be kind. ', cache_control: { type: 'ephemeral' } },
    { type: 'text', text: 'be short.' },
  ],
  tools: [
    { name: 'weather', description: 'of a town', input_schema: { properties: { town: {} } } },
    { name: 'time', input_schema: { type: 'object' }, type: 'custom' },
  ],
  messages: [
    { role: 'user', content: 'is it raining in Ulm?' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'they want ', signature: 's' },
        { type: 'thinking', thinking: 'the weather' },
        { type: 'redacted_thinking', data: 'eA==' },
        { type: 'text', text: 'I look it up.' },
        { type: 'tool_use', id: 't1', name: 'weather', input: { town: 'Ulm' } },
        { type: 'tool_use', id: 't2', name: 'time' },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'go on' },
        { type: 'tool_result', tool_use_id: 't1', content: 'rain' },
        {
          type: 'tool_result',
          tool_use_id: 't2',
          content: [
            { type: 'text', text: 'noon' },
            { type: 'text', text: 'UTC' },
          ],
        },
        { type: 'text', text: 'please' },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't3' }] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 't4', name: 'time', input: {} }] },
  ],
};

/** As OpenAI's client sends it, in the middle of a loop with tools. */
export const RESPONSES_AGENT: Json = {
  model: 'm',
  instructions: 'be kind',
  max_output_tokens: 64,
  stream: true,
  store: false,
  reasoning: { effort: 'low', summary: 'auto' },
  tools: [
    {
      type: 'function',
      name: 'weather',
      description: 'of a town',
      parameters: { type: 'object' },
      strict: true,
    },
    { type: 'function', name: 'time', parameters: {} },
  ],
  input: [
    { role: 'developer', content: 'be short' },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'rain in Ulm?' }] },
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [],
      content: [{ type: 'reasoning_text', text: 'they want the weather' }],
      encrypted_content: null,
    },
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'I look it up.', annotations: [] }],
    },
    { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"town": "Ulm"}' },
    { type: 'function_call', call_id: 'c2', name: 'time', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: 'rain' },
    {
      type: 'function_call_output',
      call_id: 'c2',
      output: [{ type: 'input_text', text: 'noon' }],
    },
    { type: 'function_call', call_id: 'c3', name: 'time', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c3', output: 'noon' },
    { role: 'assistant', content: 'it rains' },
    { role: 'assistant', content: 'at noon' },
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'done' }] },
  ],
};

/** A call of a tool, as a chat has it. */
export const called = (id: string, name: string, given: string): object => ({
  id,
  type: 'function',
  function: { name, arguments: given },
});
