import { describe, expect, it } from 'vitest';
import { called, MESSAGES_AGENT } from '../../../test/support/agent-requests.ts';
import { messagesChat } from './messages-chat.ts';

describe('the chat of a request of the Messages API', () => {
  it('[D588] has its system text, its turns, its calls of tools and what they returned', () => {
    expect(messagesChat(MESSAGES_AGENT)).toEqual({
      model: 'm',
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'of a town',
            parameters: { properties: { town: {} }, type: 'object' },
          },
        },
        { type: 'function', function: { name: 'time', parameters: { type: 'object' } } },
      ],
      messages: [
        { role: 'system', content: 'be kind. be short.' },
        { role: 'user', content: 'is it raining in Ulm?' },
        {
          role: 'assistant',
          content: 'I look it up.',
          reasoning: 'they want the weather',
          tool_calls: [called('t1', 'weather', '{"town":"Ulm"}'), called('t2', 'time', '{}')],
        },
        { role: 'tool', tool_call_id: 't1', content: 'rain' },
        { role: 'tool', tool_call_id: 't2', content: 'noon\nUTC' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'go on' },
            { type: 'text', text: 'please' },
          ],
        },
        { role: 'tool', tool_call_id: 't3', content: '' },
        { role: 'assistant', tool_calls: [called('t4', 'time', '{}')] },
      ],
    });
  });

  it('[D588] gives the template what it is given, and the effort', () => {
    const body = {
      messages: [{ role: 'user', content: 'a' }],
      system: '',
      tools: [],
      chat_template_kwargs: { enable_thinking: false },
      output_config: { effort: 'low' },
    };
    expect(messagesChat(body)).toEqual({
      messages: [{ role: 'user', content: 'a' }],
      chat_template_kwargs: { enable_thinking: false, reasoning_effort: 'low' },
    });
  });

  const user = (...content: readonly object[]) => ({ messages: [{ role: 'user', content }] });
  it.each([
    ['media', 'an image', user({ type: 'image', source: { type: 'file', file_id: 'f' } })],
    [
      'media',
      'an image that a tool returned',
      user({ type: 'tool_result', tool_use_id: 't', content: [{ type: 'image', source: {} }] }),
    ],
    ['no-chat', 'a document', user({ type: 'document', source: { type: 'text', data: 'a' } })],
    ['no-chat', 'a call by the user', user({ type: 'tool_use', id: 't', name: 'f' })],
    ['no-chat', 'a part that is null', { messages: [{ role: 'user', content: [null] }] }],
    ['no-chat', 'a message without content', { messages: [{ role: 'user' }] }],
    ['no-chat', 'a message that is null', { messages: [null] }],
    [
      'no-chat',
      'a system message among the others',
      { messages: [{ role: 'system', content: 'a' }] },
    ],
    [
      'no-chat',
      'a tool that the server runs',
      {
        messages: [{ role: 'user', content: 'a' }],
        tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      },
    ],
    [
      'no-chat',
      'tools that are no list',
      { messages: [{ role: 'user', content: 'a' }], tools: {} },
    ],
  ])('[D589] is not known: %s, for %s', (reason, _what, body) => {
    expect(messagesChat(body)).toBe(reason);
  });
});
