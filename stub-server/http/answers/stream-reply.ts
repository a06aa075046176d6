import type { ServerResponse } from 'node:http';
import type { SequenceUsage } from '../../engine/sequence.ts';
import { ApiError, beginEventStream } from '../replica/api-error.ts';
import type { GenerationTerms } from '../requests/read-generation.ts';
import { IMAGE_PART } from './chat-image.ts';
import { chatLogprobs, completionLogprobs } from './logprobs.ts';
import type { Answer } from './plan-answer.ts';
import { type Piece, TokenPieces } from './token-pieces.ts';
import { type Envelope, textPart, toolCallId, usageObject } from './whole-reply.ts';

interface StreamParts {
  readonly response: ServerResponse;
  readonly envelope: Envelope;
  readonly answers: readonly Answer[];
  /** The prompt of each answer. */
  readonly promptTokens: readonly number[];
  /** The current lateness of the engine, in real time. */
  readonly lateMs: () => number;
}

interface Choice {
  readonly answer: Answer;
  readonly pieces: TokenPieces;
}

/** An answer as server-sent events, one chunk per token; more where client or server is slow. */
export class StreamReply {
  readonly #request: GenerationTerms;
  readonly #parts: StreamParts;
  readonly #choices: readonly Choice[];
  readonly #head: string;

  constructor(request: GenerationTerms, parts: StreamParts) {
    const { response, envelope, answers } = parts;
    this.#request = request;
    this.#parts = parts;
    const pacing = { behind: () => response.writableNeedDrain, lateMs: parts.lateMs };
    this.#choices = answers.map((answer) => ({ answer, pieces: new TokenPieces(answer, pacing) }));
    const object = request.api === 'chat' ? 'chat.completion.chunk' : 'text_completion';
    const { id, created, model } = envelope;
    // Built once: a chunk then costs only the joining of strings.
    this.#head = `data: {"id":${JSON.stringify(id)},"object":"${object}","created":${created},"model":${JSON.stringify(model)},"choices":[{"index":`;
    beginEventStream(response);
  }

  /** `count` tokens of a choice are generated now. */
  token(index: number, count: number): void {
    const choice = this.#choices[index];
    if (choice === undefined) return;
    const piece = choice.pieces.next(count);
    if (piece === undefined) return;
    if (this.#request.api === 'chat' && piece.first) this.#write(index, opening(index, choice), 0);
    this.#write(index, this.#piece(choice, piece), count);
  }

  end(usage: SequenceUsage, kvTransfer: object | undefined): void {
    if (this.#request.withImage === true) this.#images();
    if (this.#request.includeUsage || kvTransfer !== undefined) {
      const chunk = {
        ...this.#parts.envelope,
        object: this.#request.api === 'chat' ? 'chat.completion.chunk' : 'text_completion',
        choices: [],
        ...(this.#request.includeUsage && { usage: usageObject(usage) }),
        ...(kvTransfer !== undefined && { kv_transfer_params: kvTransfer }),
      };
      this.#parts.response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    }
    this.#parts.response.end('data: [DONE]\n\n');
  }

  /** Sends the error as an event, because the status is already sent. */
  fail(message: string): void {
    const { body } = new ApiError(500, message);
    this.#parts.response.end(`data: ${JSON.stringify(body)}\n\ndata: [DONE]\n\n`);
  }

  /** A chunk with an image for each answer. */
  #images(): void {
    const object = 'chat.completion.chunk';
    for (const index of this.#choices.keys()) {
      const choices = [{ index, delta: { content: [IMAGE_PART] }, finish_reason: null }];
      const chunk = { ...this.#parts.envelope, object, choices, modality: 'image' };
      this.#parts.response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    }
  }

  #write(index: number, rest: string, completionTokens: number): void {
    const usage = this.#request.continuousUsage
      ? `,"usage":${JSON.stringify(this.#usageSoFar(index, completionTokens))}`
      : '';
    this.#parts.response.write(`${this.#head}${index},${rest}}]${usage}}\n\n`);
  }

  /** The usage of one answer alone, as in vLLM. */
  #usageSoFar(index: number, completionTokens: number): object {
    return usageObject({ promptTokens: this.#parts.promptTokens[index] ?? 0, completionTokens });
  }

  #piece({ answer }: Choice, { tokens, last, offset }: Piece): string {
    const { api, logprobs: top, withImage = false } = this.#request;
    const joined = tokens.join('');
    const text = JSON.stringify(joined);
    const finish = last
      ? `"${answer.end}","stop_reason":${JSON.stringify(answer.stoppedBy ?? null)}`
      : 'null';
    if (api === 'completions') {
      const logprobs =
        top === undefined ? 'null' : JSON.stringify(completionLogprobs(tokens, top, offset));
      return `"text":${text},"logprobs":${logprobs},"finish_reason":${finish}`;
    }
    const logprobs = top === undefined ? 'null' : JSON.stringify(chatLogprobs(tokens, top));
    const delta =
      answer.toolName === undefined
        ? `{"content":${withImage ? JSON.stringify([textPart(joined)]) : text}}`
        : `{"tool_calls":[{"index":0,"function":{"arguments":${text}}}]}`;
    return `"delta":${delta},"logprobs":${logprobs},"finish_reason":${finish}`;
  }
}

/** The first chunk of a chat answer, without tokens. */
function opening(index: number, { answer: { toolName: name } }: Choice): string {
  const called = { name, arguments: '' };
  const call = { id: toolCallId(index), type: 'function', index: 0, function: called };
  const content =
    name === undefined ? '"content":""' : `"content":null,"tool_calls":[${JSON.stringify(call)}]`;
  return `"delta":{"role":"assistant",${content}},"logprobs":null,"finish_reason":null`;
}
