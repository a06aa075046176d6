import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { PlainObject } from '../../framework/values/plain-object.ts';
import { messagesChat } from './messages-chat.ts';
import { responsesChat } from './responses-chat.ts';

/** Bodies come from clients: any value may stand at any place. */

const MESSAGES = {
  system: [{ type: 'text', text: 'a' }],
  tools: [{ name: 'f', input_schema: { type: 'object' } }],
  output_config: { effort: 'low' },
  messages: [
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [{}] }] },
    { role: 'assistant', content: [{ type: 'thinking', thinking: 'a' }] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
  ],
};
const RESPONSES = {
  instructions: 'a',
  reasoning: { effort: 'low' },
  tools: [{ type: 'function', name: 'f', parameters: {} }],
  input: [
    { type: 'reasoning', summary: [{ text: 'a' }], content: [{ text: 'a' }] },
    { role: 'assistant', content: [{ type: 'output_text', text: 'a' }] },
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'a' }] },
    { type: 'message', role: 'user', content: 'a', status: 'incomplete' },
  ],
};

/** The body with one value replaced: where a turn leads to no value, the whole object is. */
function replaced(body: unknown, turns: readonly number[], value: unknown): unknown {
  const [turn, ...rest] = turns;
  const entries = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  if (turn === undefined || entries.length === 0) return value;
  const [name = ''] = entries[turn % entries.length] ?? [];
  const changed = entries.map(([key, each]) => [
    key,
    key === name ? replaced(each, rest, value) : each,
  ]);
  return Array.isArray(body) ? changed.map(([, each]) => each) : Object.fromEntries(changed);
}

it.each([
  ['the Messages API', messagesChat, MESSAGES],
  ['the Responses API', responsesChat, RESPONSES],
])('[D589] reads any body of %s as a chat, or says why not', (_api, chatOf, body) => {
  const turns = fc.array(fc.nat(9), { minLength: 1, maxLength: 7 });
  fc.assert(
    fc.property(turns, fc.jsonValue({ maxDepth: 2 }), (path, value) => {
      const chat = chatOf(replaced(body, path, value) as PlainObject);
      if (typeof chat === 'string') expect(['media', 'no-chat']).toContain(chat);
      else expect(Array.isArray(chat['messages'])).toBe(true);
    }),
    { seed: 874, numRuns: 2000 },
  );
});
