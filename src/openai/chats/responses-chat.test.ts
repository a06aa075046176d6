import { describe, expect, it } from 'vitest';
import { called, RESPONSES_AGENT } from '../../../test/support/agent-requests.ts';
import { responsesChat } from './responses-chat.ts';

describe('the chat of a request of the Responses API', () => {
  it('[D587] has the instructions, each item, and answers of several items as one message', () => {
    expect(responsesChat(RESPONSES_AGENT)).toEqual({
      model: 'm',
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'of a town',
            parameters: { type: 'object' },
            strict: true,
          },
        },
        { type: 'function', function: { name: 'time', parameters: {}, strict: null } },
      ],
      messages: [
        { role: 'system', content: 'be kind' },
        { role: 'developer', content: 'be short' },
        { role: 'user', content: [{ type: 'text', text: 'rain in Ulm?' }] },
        {
          role: 'assistant',
          reasoning: 'they want the weather',
          content: 'I look it up.',
          tool_calls: [called('c1', 'weather', '{"town": "Ulm"}'), called('c2', 'time', '{}')],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'rain' },
        { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: 'noon' }] },
        { role: 'assistant', tool_calls: [called('c3', 'time', '{}')] },
        { role: 'tool', tool_call_id: 'c3', content: 'noon' },
        { role: 'assistant', content: 'it rains' },
        { role: 'assistant', content: 'at noon', reasoning: 'done' },
      ],
      chat_template_kwargs: { reasoning_effort: 'low' },
    });
  });

  it('[D587] is a user message for a text, and goes on with an answer that has not ended', () => {
    expect(responsesChat({ input: 'hi', instructions: null, tools: [] })).toEqual({
      messages: [{ role: 'user', content: 'hi' }],
    });
    const input = [
      { role: 'user', content: 'hi' },
      { type: 'message', role: 'assistant', status: 'incomplete', content: [] },
    ];
    expect(responsesChat({ input })).toEqual({
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: '' },
      ],
      add_generation_prompt: false,
      continue_final_message: true,
    });
  });

  const user = (part: object) => ({ input: [{ role: 'user', content: [part] }] });
  const text = { type: 'output_text', text: 'a' };
  it.each([
    ['no-chat', 'an answer that the server keeps', { input: 'a', previous_response_id: 'resp_1' }],
    ['no-chat', 'a conversation that the server keeps', { input: 'a', conversation: 'conv_1' }],
    ['no-chat', 'a prompt that the server keeps', { input: 'a', prompt: { id: 'pmpt_1' } }],
    ['no-chat', 'a tool that the server runs', { input: 'a', tools: [{ type: 'web_search' }] }],
    ['no-chat', 'an item that the server keeps', { input: [{ type: 'item_reference', id: 'i' }] }],
    ['no-chat', 'a call of its own tool', { input: [{ type: 'web_search_call', id: 'i' }] }],
    ['no-chat', 'an unknown role', { input: [{ role: 'critic', content: 'a' }] }],
    ['no-chat', 'an item that is null', { input: [null] }],
    ['no-chat', 'instructions that are no text', { input: 'a', instructions: [] }],
    [
      'no-chat',
      'thoughts that only the server can read',
      {
        input: [{ type: 'reasoning', summary: [], encrypted_content: 'eA==' }],
      },
    ],
    [
      'no-chat',
      'an answer of two parts',
      {
        input: [{ role: 'assistant', content: [text, text] }],
      },
    ],
    [
      'no-chat',
      'a refusal',
      {
        input: [{ role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] }],
      },
    ],
    [
      'no-chat',
      'a call of a tool in a namespace',
      {
        input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '', namespace: 'n' }],
      },
    ],
    ['media', 'an image', user({ type: 'input_image', file_id: 'f' })],
    ['media', 'a file', user({ type: 'input_file', file_id: 'f' })],
    [
      'media',
      'an image that a tool returned',
      {
        input: [{ type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image' }] }],
      },
    ],
  ])('[D589] is not known: %s, for %s', (reason, _what, body) => {
    expect(responsesChat(body)).toBe(reason);
  });
});
