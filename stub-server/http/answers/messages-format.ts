import type { SequenceUsage } from '../../engine/sequence.ts';
import type { EventFormat, ServerEvent } from './event-reply.ts';
import type { Answer } from './plan-answer.ts';
import { type Envelope, textOfAnswer } from './whole-reply.ts';

/** The answers of Anthropic's Messages API, whole and as events. */
export class MessagesFormat implements EventFormat {
  readonly #envelope: Envelope;
  readonly #answer: Answer;

  constructor(envelope: Envelope, answer: Answer) {
    this.#envelope = envelope;
    this.#answer = answer;
  }

  whole(usage: SequenceUsage, kvTransfer: object | undefined): object {
    const { toolName: name } = this.#answer;
    const text = textOfAnswer(this.#answer);
    const content =
      name === undefined
        ? { type: 'text', text }
        : { type: 'tool_use', id: this.#toolId(), name, input: parsed(text) };
    return {
      ...this.#frame(),
      content: [content],
      stop_reason: this.#stopReason(),
      usage: usageOf(usage),
      ...(kvTransfer !== undefined && { kv_transfer_params: kvTransfer }),
    };
  }

  accepted(): readonly ServerEvent[] {
    return [];
  }

  opening(promptTokens: number): readonly ServerEvent[] {
    const usage = { input_tokens: promptTokens, output_tokens: 0 };
    const message = { ...this.#frame(), content: [], stop_reason: null, usage };
    const { toolName: name } = this.#answer;
    const block =
      name === undefined
        ? { type: 'text', text: '' }
        : { type: 'tool_use', id: this.#toolId(), name, input: {} };
    return [
      { type: 'message_start', message },
      { type: 'content_block_start', index: 0, content_block: block },
    ];
  }

  text(text: string): ServerEvent {
    const delta =
      this.#answer.toolName === undefined
        ? { type: 'text_delta', text }
        : { type: 'input_json_delta', partial_json: text };
    return { type: 'content_block_delta', index: 0, delta };
  }

  closing(usage: SequenceUsage, kvTransfer: object | undefined): readonly ServerEvent[] {
    const delta = { stop_reason: this.#stopReason(), stop_sequence: null };
    return [
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta,
        usage: usageOf(usage),
        ...(kvTransfer !== undefined && { kv_transfer_params: kvTransfer }),
      },
      { type: 'message_stop' },
    ];
  }

  failure(message: string): ServerEvent {
    return { type: 'error', error: { type: 'api_error', message } };
  }

  #frame(): object {
    const { id, model } = this.#envelope;
    return { id, type: 'message', role: 'assistant', model, stop_sequence: null };
  }

  #toolId(): string {
    return `toolu_${this.#envelope.id}`;
  }

  #stopReason(): string {
    const { end } = this.#answer;
    if (end === 'tool_calls') return 'tool_use';
    return end === 'length' ? 'max_tokens' : 'end_turn';
  }
}

/** The arguments of a call; those that the limit of tokens has cut are none. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}

/** As vLLM counts: `input_tokens` has the cached tokens, too. */
function usageOf({ promptTokens, completionTokens, cachedTokens }: SequenceUsage): object {
  return {
    input_tokens: promptTokens,
    output_tokens: completionTokens,
    cache_read_input_tokens: cachedTokens,
  };
}
