import type { ServerResponse } from 'node:http';
import type { Envelope } from './envelope.ts';
import type { GenerationTerms } from './generation-request.ts';
import { chatLogprobs, completionLogprobs } from './logprobs.ts';
import type { Answer } from './plan-answer.ts';
import { type TokenUsage, usageObject } from './usage.ts';
import { toolCallId } from './whole-reply.ts';

/**
 * The server is too busy to send each token by itself when its engine runs this late, in real time: timers alone are
 * late by a millisecond or two. With each such span of lateness a chunk carries a token more, until it keeps up.
 */
const LATE_MS = 20;

interface Choice {
  readonly answer: Answer;
  /** Tokens already written. */
  sent: number;
  /** Characters already written. */
  characters: number;
}

/**
 * An answer as server-sent events, one chunk a token. When the client or the server does not keep up, tokens are
 * gathered and the next chunk carries all of them: nothing is lost, and time is not stretched.
 */
export class StreamReply {
  readonly #request: GenerationTerms;
  readonly #response: ServerResponse;
  readonly #choices: readonly Choice[];
  readonly #head: string;
  readonly #envelope: Envelope;
  readonly #lateMs: () => number;

  constructor(
    request: GenerationTerms,
    parts: {
      readonly response: ServerResponse;
      readonly envelope: Envelope;
      readonly answers: readonly Answer[];
      /** How late the engine is at the moment, in real time. */
      readonly lateMs: () => number;
    },
  ) {
    const { response, envelope, answers, lateMs } = parts;
    this.#request = request;
    this.#response = response;
    this.#envelope = envelope;
    this.#lateMs = lateMs;
    this.#choices = answers.map((answer) => ({ answer, sent: 0, characters: 0 }));
    const object = request.api === 'chat' ? 'chat.completion.chunk' : 'text_completion';
    const { id, created, model } = envelope;
    // Written once: a chunk then costs the joining of strings and no JSON.
    this.#head = `data: {"id":${JSON.stringify(id)},"object":"${object}","created":${created},"model":${JSON.stringify(model)},"choices":[{"index":`;
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    // vLLM sends the head as soon as the request is taken, long before the first token.
    response.flushHeaders();
  }

  /** So many tokens of a choice are there now. */
  token(index: number, count: number): void {
    const choice = this.#choices[index];
    if (choice === undefined) return;
    const last = count >= choice.answer.tokens;
    // One of us is behind: wait, but never with the end.
    if (!last && (this.#response.writableNeedDrain || this.#gathers(choice, count))) return;
    if (this.#request.api === 'chat' && choice.sent === 0)
      this.#write(index, this.#opening(choice));
    const from = choice.sent;
    choice.sent = count;
    const tokens = Array.from({ length: count - from }, (_, at) => choice.answer.text(from + at));
    this.#write(index, this.#piece(choice, { tokens, last }));
  }

  end(usage: TokenUsage, kvTransfer: object | undefined): void {
    if (this.#request.includeUsage || kvTransfer !== undefined) {
      const chunk = {
        ...this.#envelope,
        object: this.#request.api === 'chat' ? 'chat.completion.chunk' : 'text_completion',
        choices: [],
        ...(this.#request.includeUsage && { usage: usageObject(usage) }),
        ...(kvTransfer !== undefined && { kv_transfer_params: kvTransfer }),
      };
      this.#response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    }
    this.#response.end('data: [DONE]\n\n');
  }

  /** The stream has begun, so there is no status left to say it with. */
  fail(message: string): void {
    const error = { message, type: 'InternalServerError', param: null, code: 500 };
    this.#response.end(`data: ${JSON.stringify({ error })}\n\ndata: [DONE]\n\n`);
  }

  /** Whether this token is to wait for the next. The first one never does: it is what clients measure. */
  #gathers({ sent }: Choice, count: number): boolean {
    return sent > 0 && count - sent < 1 + Math.floor(this.#lateMs() / LATE_MS);
  }

  #write(index: number, rest: string): void {
    this.#response.write(`${this.#head}${index},${rest}}]}\n\n`);
  }

  #opening({ answer }: Choice): string {
    const { toolName } = answer;
    if (toolName === undefined) {
      return '"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null';
    }
    const call = {
      id: toolCallId(this.#choices.findIndex((choice) => choice.answer === answer)),
      type: 'function',
      index: 0,
      function: { name: toolName, arguments: '' },
    };
    return `"delta":{"role":"assistant","content":null,"tool_calls":[${JSON.stringify(call)}]},"logprobs":null,"finish_reason":null`;
  }

  #piece(
    choice: Choice,
    { tokens, last }: { readonly tokens: readonly string[]; readonly last: boolean },
  ): string {
    const text = JSON.stringify(tokens.join(''));
    const { api, logprobs: top } = this.#request;
    const finish = last ? `"${choice.answer.end}"` : 'null';
    const offset = choice.characters;
    choice.characters += tokens.reduce((sum, token) => sum + token.length, 0);
    if (api === 'completions') {
      const logprobs =
        top === undefined ? 'null' : JSON.stringify(completionLogprobs(tokens, top, offset));
      return `"text":${text},"logprobs":${logprobs},"finish_reason":${finish}`;
    }
    const logprobs = top === undefined ? 'null' : JSON.stringify(chatLogprobs(tokens, top));
    const delta =
      choice.answer.toolName === undefined
        ? `{"content":${text}}`
        : `{"tool_calls":[{"index":0,"function":{"arguments":${text}}}]}`;
    return `"delta":${delta},"logprobs":${logprobs},"finish_reason":${finish}`;
  }
}
