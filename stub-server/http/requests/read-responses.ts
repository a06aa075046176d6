import { z } from 'zod';
import { ApiError, parseBody } from '../replica/api-error.ts';
import { type BytesOf, type ChatMessage, lastTextOf, renderChat } from './chat-prompt.ts';
import { type GenerationRequest, readCommonTerms } from './read-generation.ts';
import { chooseTools } from './tools.ts';

const text = z.string().nullish();
const parts = z.array(z.looseObject({ type: z.string(), text }));
const item = z.looseObject({
  /** `message` when it is left out. */
  type: z.string().optional(),
  role: z.string().optional(),
  content: z.union([z.string(), parts]).nullish(),
  arguments: z.string().optional(),
  output: z.union([z.string(), parts]).optional(),
});
const responsesSchema = z.looseObject({
  input: z.union([z.string(), z.array(item).min(1)]),
  instructions: text,
  max_output_tokens: z.int().positive().nullish(),
  previous_response_id: text,
  // Tools of other types, such as a web search, are never called.
  tools: z.array(z.looseObject({ type: z.string(), name: z.string().optional() })).nullish(),
  tool_choice: z
    .union([z.enum(['none', 'auto', 'required']), z.looseObject({ name: z.string() })])
    .nullish(),
});

/** Reads a request of the Responses API as vLLM does. Throws ApiError. */
export function readResponses(raw: unknown, bytesOf?: BytesOf): GenerationRequest {
  const data = parseBody(responsesSchema, raw);
  const { input, instructions, tools, tool_choice: choice, previous_response_id: previous } = data;
  if (typeof previous === 'string')
    throw new ApiError(404, `Response with id '${previous}' not found.`, 'previous_response_id');
  const functions = (tools ?? []).flatMap(({ type, name = '', ...rest }) =>
    type === 'function' ? [{ name, parameters: rest['parameters'] }] : [],
  );
  const messages = [
    ...(typeof instructions === 'string' ? [{ role: 'system', content: instructions }] : []),
    ...(typeof input === 'string' ? [{ role: 'user', content: input }] : input.flatMap(messageOf)),
  ];
  const { ids, media } = renderChat({ messages, tools }, bytesOf);
  return {
    ...readCommonTerms(raw, 'responses'),
    prompts: [ids],
    media,
    asked: () => lastTextOf(messages, bytesOf),
    outputTokensMax: data.max_output_tokens ?? undefined,
    logprobs: undefined,
    ...chooseTools(functions, choice ?? undefined),
  };
}

/** An item of the input as a message of a chat; none for reasoning, which is not a prompt. */
function messageOf(given: z.infer<typeof item>): readonly ChatMessage[] {
  const { type = 'message', role = 'user', content, output, arguments: called = '' } = given;
  if (type === 'message') return [{ role, content: plain(content) }];
  if (type === 'function_call')
    return [{ role: 'assistant', tool_calls: [{ function: { arguments: called } }] }];
  if (type === 'function_call_output') return [{ role: 'tool', content: plain(output) }];
  return [];
}

function plain(content: z.infer<typeof item>['content']): ChatMessage['content'] {
  if (typeof content !== 'object' || content === null) return content;
  return content.map((part) => ({ ...part, text: part.text ?? undefined }));
}
