import type { SequenceUsage } from '../../engine/sequence.ts';
import type { EventFormat, ServerEvent } from './event-reply.ts';
import type { Answer } from './plan-answer.ts';
import { type Envelope, textOfAnswer } from './whole-reply.ts';

/** The answers of the Responses API, whole and as events. */
export class ResponsesFormat implements EventFormat {
  readonly #envelope: Envelope;
  readonly #answer: Answer;
  #events = 0;
  #sent = '';

  constructor(envelope: Envelope, answer: Answer) {
    this.#envelope = envelope;
    this.#answer = answer;
  }

  whole(usage: SequenceUsage, kvTransfer: object | undefined): object {
    const { end } = this.#answer;
    const cut = end === 'length';
    return {
      ...this.#frame(cut ? 'incomplete' : 'completed'),
      incomplete_details: cut ? { reason: 'max_output_tokens' } : null,
      output: [this.#item(textOfAnswer(this.#answer), 'completed')],
      usage: usageOf(usage),
      kv_transfer_params: kvTransfer ?? null,
    };
  }

  accepted(): readonly ServerEvent[] {
    const response = { ...this.#frame('in_progress'), output: [], usage: null };
    return [
      this.#event('response.created', { response }),
      this.#event('response.in_progress', { response }),
    ];
  }

  opening(): readonly ServerEvent[] {
    const added = { output_index: 0, item: this.#item(undefined, 'in_progress') };
    const events = [this.#event('response.output_item.added', added)];
    if (this.#answer.toolName !== undefined) return events;
    const part = textPart('');
    return [...events, this.#event('response.content_part.added', { ...this.#place(), part })];
  }

  text(delta: string): ServerEvent {
    this.#sent += delta;
    const type =
      this.#answer.toolName === undefined
        ? 'response.output_text.delta'
        : 'response.function_call_arguments.delta';
    return this.#event(type, { ...this.#place(), delta });
  }

  closing(usage: SequenceUsage, kvTransfer: object | undefined): readonly ServerEvent[] {
    const text = this.#sent;
    const place = this.#place();
    const done =
      this.#answer.toolName === undefined
        ? [
            this.#event('response.output_text.done', { ...place, text, logprobs: [] }),
            this.#event('response.content_part.done', { ...place, part: textPart(text) }),
          ]
        : [this.#event('response.function_call_arguments.done', { ...place, arguments: text })];
    const item = this.#item(text, 'completed');
    const ends = this.#answer.end === 'length' ? 'response.incomplete' : 'response.completed';
    return [
      ...done,
      this.#event('response.output_item.done', { output_index: 0, item }),
      this.#event(ends, { response: this.whole(usage, kvTransfer) }),
    ];
  }

  failure(message: string): ServerEvent {
    const error = { code: 'server_error', message };
    const response = { ...this.#frame('failed'), output: [], usage: null, error };
    return this.#event('response.failed', { response });
  }

  #event(type: string, fields: object): ServerEvent {
    return { ...fields, type, sequence_number: this.#events++ };
  }

  #frame(status: string): object {
    const { id, created, model } = this.#envelope;
    return {
      id,
      object: 'response',
      created_at: created,
      status,
      model,
      error: null,
      incomplete_details: null,
      parallel_tool_calls: true,
      tool_choice: 'auto',
      tools: [],
    };
  }

  #place(): object {
    return { item_id: this.#itemId(), output_index: 0, content_index: 0 };
  }

  #itemId(): string {
    const { id } = this.#envelope;
    return this.#answer.toolName === undefined ? `msg_${id}` : `fc_${id}`;
  }

  /** Without a text, the item has no content yet. */
  #item(text: string | undefined, status: string): object {
    const id = this.#itemId();
    const { toolName: name } = this.#answer;
    if (name !== undefined) {
      const call = { call_id: `call_${id}`, name, arguments: text ?? '' };
      return { type: 'function_call', id, status, ...call };
    }
    const content = text === undefined ? [] : [textPart(text)];
    return { type: 'message', id, status, role: 'assistant', content };
  }
}

function textPart(text: string): object {
  return { type: 'output_text', text, annotations: [], logprobs: null };
}

function usageOf({ promptTokens, completionTokens, cachedTokens }: SequenceUsage): object {
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: promptTokens + completionTokens,
  };
}
