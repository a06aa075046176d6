import { z } from 'zod';
import { parseBody } from '../replica/api-error.ts';
import {
  type BytesOf,
  type ChatMessage,
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
  tools: z.array(z.looseObject({ name: z.string(), input_schema: z.unknown() })).nullish(),
};
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
    ...readCommonTerms({ ...data, n: 1 }, 'messages'),
    prompts: [ids],
    media,
    asked: () => lastTextOf(data.messages.flatMap(chatOf), bytesOf),
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

function promptOf(
  { system, messages, tools }: z.infer<typeof promptSchema>,
  bytesOf?: BytesOf,
): RenderedChat {
  const before =
    system === null || system === undefined ? [] : [{ role: 'system', content: system }];
  const chat = [...before, ...messages.flatMap(chatOf)];
  return renderChat({ messages: chat, tools }, bytesOf);
}

/**
 * A message, before it the results of tools that it has: in a chat they have a role of their own.
 */
function chatOf({
  role,
  content,
}: z.infer<typeof promptSchema>['messages'][number]): readonly ChatMessage[] {
  if (typeof content === 'string') return [{ role, content }];
  const results = content.filter(({ type }) => type === 'tool_result');
  const others = content.filter(({ type }) => type !== 'tool_result');
  const calls = others.filter(({ type }) => type === 'tool_use');
  const texts = others.filter(({ type }) => type !== 'tool_use');
  return [
    ...results.map((each) => ({ role: 'tool', content: each.content })),
    ...(others.length === 0
      ? []
      : [
          {
            role,
            content: texts.map((part) => ({ ...part, text: part.text ?? '' })),
            tool_calls: calls.map(({ input }) => ({
              function: { arguments: JSON.stringify(input ?? {}) },
            })),
          },
        ]),
  ];
}

function choiceOf(choice: z.infer<typeof messagesSchema>['tool_choice']): ToolChoice | undefined {
  if (choice === null || choice === undefined) return undefined;
  const { type, name = '' } = choice;
  if (type === 'tool') return { name };
  return type === 'any' ? 'required' : type;
}
