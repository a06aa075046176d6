import { z } from 'zod';
import { parseBody } from '../replica/api-error.ts';
import {
  type BytesOf,
  type ChatMessage,
  joinTexts,
  lastTextOf,
  type RenderedChat,
  renderChat,
} from './chat-prompt.ts';
import { type GenerationRequest, readCommonTerms } from './read-generation.ts';
import { chooseTools, type ToolChoice } from './tools.ts';

const textBlocks = z.array(z.looseObject({ type: z.string(), text: z.string().optional() }));
const block = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  /** The arguments of a tool that the model has called. */
  input: z.unknown().optional(),
  /** What a tool has returned. */
  content: z.union([z.string(), textBlocks]).optional(),
});
const promptFields = {
  system: z.union([z.string(), textBlocks]).nullish(),
  messages: z
    .array(z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(block)]) }))
    .min(1),
  tools: z
    .array(z.looseObject({ name: z.string(), input_schema: z.record(z.string(), z.unknown()) }))
    .nullish(),
};
/** A block of the system text that differs in each request. */
const PER_REQUEST = 'x-anthropic-billing-header';
const promptSchema = z.looseObject(promptFields);
const messagesSchema = z.looseObject({
  ...promptFields,
  max_tokens: z.int().positive(),
  stop_sequences: z.array(z.string()).nullish(),
  tool_choice: z
    .looseObject({ type: z.enum(['auto', 'any', 'tool', 'none']), name: z.string().optional() })
    .nullish(),
});

/** Reads a request of Anthropic's Messages API as vLLM does. Throws ApiError. */
export function readMessages(raw: unknown, bytesOf?: BytesOf): GenerationRequest {
  const data = parseBody(messagesSchema, raw);
  const known = (data.tools ?? []).map(({ name, input_schema: parameters }) => ({
    name,
    parameters,
  }));
  const { ids, media } = promptOf(data, bytesOf);
  return {
    // In vLLM this API has no salt.
    ...readCommonTerms({ ...data, n: 1, cache_salt: null }, 'messages'),
    prompts: [ids],
    media,
    asked: () => lastTextOf(chatOf(data, bytesOf), bytesOf),
    outputTokensMax: data.max_tokens,
    stop: data.stop_sequences ?? [],
    logprobs: undefined,
    ...chooseTools(known, choiceOf(data.tool_choice)),
  };
}

/** The number of tokens of a request without an answer. Throws ApiError. */
export function countMessageTokens(raw: unknown): number {
  return promptOf(parseBody(promptSchema, raw)).ids.length;
}

type Prompt = z.infer<typeof promptSchema>;

function promptOf(prompt: Prompt, bytesOf?: BytesOf): RenderedChat {
  const tools = (prompt.tools ?? []).map(({ name, description, ...tool }) => {
    const parameters = { ...tool.input_schema, type: tool.input_schema['type'] ?? 'object' };
    const { defer_loading } = tool;
    return { type: 'function', function: { name, description, parameters, defer_loading } };
  });
  const chat = { messages: chatOf(prompt, bytesOf), tools: tools.length === 0 ? null : tools };
  return renderChat(chat, bytesOf);
}

function chatOf({ system, messages }: Prompt, bytesOf?: BytesOf): readonly ChatMessage[] {
  const blocks = typeof system === 'string' ? [{ text: system }] : (system ?? []);
  const texts = blocks.map(({ text = '' }) => text).filter((text) => !text.startsWith(PER_REQUEST));
  const content = joinTexts(texts, '', bytesOf);
  return [
    ...(content === '' ? [] : [{ role: 'system', content }]),
    ...messages.flatMap((message) => turnOf(message, bytesOf)),
  ];
}

/**
 * A message, before it the results of tools that it has: in a chat they have a role of their own.
 */
function turnOf(
  { role, content }: Prompt['messages'][number],
  bytesOf?: BytesOf,
): readonly ChatMessage[] {
  if (typeof content === 'string') return [{ role, content }];
  const results = content.filter(({ type }) => type === 'tool_result');
  const calls = content.filter(({ type }) => type === 'tool_use');
  const parts = content.filter(
    ({ type, text }) => type !== 'tool_result' && type !== 'tool_use' && text !== '',
  );
  return [
    ...results.map((each) => ({ role: 'tool', content: resultOf(each, bytesOf) })),
    ...(role === 'user' && parts.length === 0
      ? []
      : [
          {
            role,
            content: parts.map((part) => ({ ...part, text: part.text ?? '' })),
            tool_calls: calls.map(({ input }) => ({
              function: { arguments: JSON.stringify(input ?? {}) },
            })),
          },
        ]),
  ];
}

/** What a tool returned, as one text. Media stay parts, so that they are counted. */
function resultOf({ content }: z.infer<typeof block>, bytesOf?: BytesOf): ChatMessage['content'] {
  if (typeof content !== 'object') return content;
  if (content.some(({ type }) => type !== 'text')) return content;
  return joinTexts(
    content.map(({ text = '' }) => text),
    '\n',
    bytesOf,
  );
}

function choiceOf(choice: z.infer<typeof messagesSchema>['tool_choice']): ToolChoice | undefined {
  if (choice === null || choice === undefined) return undefined;
  const { type, name = '' } = choice;
  if (type === 'tool') return { name };
  return type === 'any' ? 'required' : type;
}
