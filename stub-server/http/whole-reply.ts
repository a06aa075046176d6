import type { SequenceUsage } from '../engine/sequence.ts';
import type { GenerationTerms } from './generation-request.ts';
import { chatLogprobs, completionLogprobs } from './logprobs.ts';
import type { Answer } from './plan-answer.ts';

/** The common fields of every answer and every chunk of one. */
export interface Envelope {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly model: string;
}

/** A whole answer as one JSON object. */
export function wholeReply(
  request: GenerationTerms,
  parts: {
    readonly envelope: Envelope;
    readonly answers: readonly Answer[];
    readonly usage: SequenceUsage;
    readonly kvTransfer: object | undefined;
  },
): object {
  const { envelope, answers, usage, kvTransfer } = parts;
  const chat = request.api === 'chat';
  return {
    ...envelope,
    object: chat ? 'chat.completion' : 'text_completion',
    choices: answers.map((answer, index) =>
      chat ? chatChoice(request, answer, index) : textChoice(request, answer, index),
    ),
    usage: usageObject(usage),
    kv_transfer_params: kvTransfer ?? null,
  };
}

function chatChoice({ logprobs }: GenerationTerms, answer: Answer, index: number): object {
  const tokens = tokensOf(answer);
  const { toolName: name, end } = answer;
  const text = tokens.join('');
  const call = { id: toolCallId(index), type: 'function', function: { name, arguments: text } };
  return {
    index,
    message:
      name === undefined
        ? { role: 'assistant', content: text, tool_calls: [] }
        : { role: 'assistant', content: null, tool_calls: [call] },
    logprobs: logprobs === undefined ? null : chatLogprobs(tokens, logprobs),
    finish_reason: end,
    stop_reason: null,
  };
}

function textChoice({ logprobs }: GenerationTerms, answer: Answer, index: number): object {
  const tokens = tokensOf(answer);
  return {
    index,
    text: tokens.join(''),
    logprobs: logprobs === undefined ? null : completionLogprobs(tokens, logprobs, 0),
    finish_reason: answer.end,
    stop_reason: null,
  };
}

export function toolCallId(choice: number): string {
  return `chatcmpl-tool-${choice}`;
}

/** The `usage` object of both APIs. */
export function usageObject(usage: SequenceUsage): object {
  const { promptTokens, completionTokens, cachedTokens } = usage;
  return {
    prompt_tokens: promptTokens,
    total_tokens: promptTokens + completionTokens,
    completion_tokens: completionTokens,
    // vLLM omits the details when no token was cached.
    prompt_tokens_details: cachedTokens === 0 ? null : { cached_tokens: cachedTokens },
  };
}

function tokensOf(answer: Answer): readonly string[] {
  return Array.from({ length: answer.tokens }, (_, index) => answer.text(index));
}
