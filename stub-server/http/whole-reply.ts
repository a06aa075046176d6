import type { Envelope } from './envelope.ts';
import type { GenerationTerms } from './generation-request.ts';
import { chatLogprobs, completionLogprobs } from './logprobs.ts';
import type { Answer } from './plan-answer.ts';
import { type TokenUsage, usageObject } from './usage.ts';

/** The whole answer as one JSON object. */
export function wholeReply(
  request: GenerationTerms,
  parts: {
    readonly envelope: Envelope;
    readonly answers: readonly Answer[];
    readonly usage: TokenUsage;
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
  const { toolName, end } = answer;
  const message =
    toolName === undefined
      ? { role: 'assistant', content: tokens.join(''), tool_calls: [] }
      : {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: toolCallId(index),
              type: 'function',
              function: { name: toolName, arguments: tokens.join('') },
            },
          ],
        };
  return {
    index,
    message,
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

function tokensOf(answer: Answer): readonly string[] {
  return Array.from({ length: answer.tokens }, (_, index) => answer.text(index));
}
