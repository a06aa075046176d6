import type { SequenceUsage } from '../../engine/sequence.ts';
import type { GenerationTerms } from '../requests/read-generation.ts';
import { IMAGE_PART } from './chat-image.ts';
import { chatLogprobs, completionLogprobs } from './logprobs.ts';
import type { Answer } from './plan-answer.ts';

/** The common fields of every answer and every chunk of one. */
export interface Envelope {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly model: string;
}

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
  return {
    ...envelope,
    object: request.api === 'chat' ? 'chat.completion' : 'text_completion',
    choices: answers.map((answer, index) => choiceOf(request, answer, index)),
    usage: usageObject(usage),
    kv_transfer_params: kvTransfer ?? null,
  };
}

function choiceOf(request: GenerationTerms, answer: Answer, index: number): object {
  const tokens = Array.from({ length: answer.tokens }, (_, at) => answer.text(at));
  const text = tokens.join('');
  const end = { finish_reason: answer.end, stop_reason: answer.stoppedBy ?? null };
  const { api, logprobs: top, withImage = false } = request;
  if (api === 'completions') {
    const logprobs = top === undefined ? null : completionLogprobs(tokens, top, 0);
    return { index, text, logprobs, ...end };
  }
  const { toolName: name } = answer;
  const call = { id: toolCallId(index), type: 'function', function: { name, arguments: text } };
  const message =
    name === undefined
      ? {
          role: 'assistant',
          content: withImage ? [textPart(text), IMAGE_PART] : text,
          tool_calls: [],
        }
      : { role: 'assistant', content: withImage ? [IMAGE_PART] : null, tool_calls: [call] };
  const logprobs = top === undefined ? null : chatLogprobs(tokens, top);
  return { index, message, logprobs, ...end };
}

/** A text as a part of the content of a message. */
export function textPart(text: string): object {
  return { type: 'text', text };
}

/** All of an answer's text. */
export function textOfAnswer(answer: Answer): string {
  return Array.from({ length: answer.tokens }, (_, at) => answer.text(at)).join('');
}

export function toolCallId(choice: number): string {
  return `chatcmpl-tool-${choice}`;
}

/** Without `cachedTokens` for the chunks of a stream: they are not known before its end. */
export function usageObject(
  usage: Omit<SequenceUsage, 'cachedTokens'> & Partial<SequenceUsage>,
): object {
  const { promptTokens, completionTokens, cachedTokens = 0 } = usage;
  return {
    prompt_tokens: promptTokens,
    total_tokens: promptTokens + completionTokens,
    completion_tokens: completionTokens,
    // vLLM omits the details when no token was cached.
    prompt_tokens_details: cachedTokens === 0 ? null : { cached_tokens: cachedTokens },
  };
}
