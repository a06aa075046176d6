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
  const functions = (tools ?? []).filter(({ type }) => type === 'function');
  const messages = [
    ...(instructions ? [{ role: 'system', content: instructions }] : []),
    ...(typeof input === 'string' ? [{ role: 'user', content: input }] : messagesOf(input)),
  ];
  const described = functions.map(({ name, description, parameters, strict = null }) => ({
    type: 'function',
    function: { name, description, parameters, strict },
  }));
  const chat = { messages, tools: described.length === 0 ? null : described };
  const { ids, media } = renderChat(chat, bytesOf);
  return {
    ...readCommonTerms(raw, 'responses'),
    prompts: [ids],
    media,
    asked: () => lastTextOf(messages, bytesOf),
    outputTokensMax: data.max_output_tokens ?? undefined,
    logprobs: undefined,
    ...chooseTools(
      functions.map(({ name = '', parameters }) => ({ name, parameters })),
      choice ?? undefined,
    ),
  };
}

/** An answer of the model, which several items may be parts of. */
interface Answer extends ChatMessage {
  content?: string;
  hasThoughts?: boolean;
  tool_calls?: readonly { readonly function: { readonly arguments: string } }[];
}

/**
 * Items of the input as messages of a chat. Thoughts, a text and calls of functions that follow each
 * other are one message; the template leaves out the thoughts.
 */
function messagesOf(items: readonly z.infer<typeof item>[]): readonly ChatMessage[] {
  const messages: ChatMessage[] = [];
  let open: Answer | undefined;
  const answer = (isTaken: (answer: Answer) => boolean): Answer => {
    if (open !== undefined && !isTaken(open)) return open;
    open = { role: 'assistant' };
    messages.push(open);
    return open;
  };
  for (const {
    type = 'message',
    role = 'user',
    content,
    output,
    arguments: called = '',
  } of items) {
    if (type === 'message' && role === 'assistant') {
      answer((last) => last.content !== undefined).content = firstText(content);
    } else if (type === 'reasoning') {
      answer((last) => last.hasThoughts === true).hasThoughts = true;
    } else if (type === 'function_call') {
      const last = answer(() => false);
      last.tool_calls = [...(last.tool_calls ?? []), { function: { arguments: called } }];
    } else if (type === 'message' || type === 'function_call_output') {
      open = undefined;
      const isResult = type === 'function_call_output';
      messages.push({
        role: isResult ? 'tool' : role,
        content: plain(isResult ? output : content),
      });
    }
  }
  return messages;
}

/** As vLLM, which takes the first part of an answer. */
function firstText(content: z.infer<typeof item>['content']): string {
  return typeof content === 'string' ? content : (content?.[0]?.text ?? '');
}

function plain(content: z.infer<typeof item>['content']): ChatMessage['content'] {
  if (typeof content !== 'object' || content === null) return content;
  return content.map((part) => ({ ...part, text: part.text ?? undefined }));
}
