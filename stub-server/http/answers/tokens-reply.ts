import type { ServerResponse } from 'node:http';
import type { SequenceUsage } from '../../engine/sequence.ts';
import { ApiError, beginEventStream } from '../replica/api-error.ts';
import { shownIds, tokenIdsOf } from '../requests/tokenizer.ts';
import type { Answer } from './plan-answer.ts';
import { type PieceOptions, TokenPieces } from './token-pieces.ts';
import { usageObject } from './whole-reply.ts';

/** A whole answer of `/inference/v1/generate`. */
export function wholeTokens(
  requestId: string,
  answers: readonly Answer[],
  { usage, kvTransfer }: { readonly usage: SequenceUsage; readonly kvTransfer: object | undefined },
): object {
  const choices = answers.map((answer, index) => {
    const texts = Array.from({ length: answer.tokens }, (_, at) => answer.text(at));
    return { index, token_ids: idsOf(texts), finish_reason: answer.end, logprobs: null };
  });
  return {
    request_id: requestId,
    choices,
    prompt_logprobs: null,
    usage: usageObject(usage),
    kv_transfer_params: kvTransfer ?? null,
  };
}

/** An answer of tokens as server-sent events, one chunk per token. */
export class TokensReply {
  readonly #requestId: string;
  readonly #response: ServerResponse;
  readonly #choices: readonly { readonly answer: Answer; readonly pieces: TokenPieces }[];

  constructor(
    requestId: string,
    {
      response,
      answers,
      lateMs,
    }: Pick<PieceOptions, 'lateMs'> & {
      readonly response: ServerResponse;
      readonly answers: readonly Answer[];
    },
  ) {
    this.#requestId = requestId;
    this.#response = response;
    const pacing = { behind: () => response.writableNeedDrain, lateMs };
    this.#choices = answers.map((answer) => ({ answer, pieces: new TokenPieces(answer, pacing) }));
    beginEventStream(response);
  }

  token(index: number, count: number): void {
    const choice = this.#choices[index];
    const piece = choice?.pieces.next(count);
    if (choice === undefined || piece === undefined) return;
    const finish = piece.last ? choice.answer.end : null;
    const chunk = { index, token_ids: idsOf(piece.tokens), finish_reason: finish, logprobs: null };
    this.#write({ request_id: this.#requestId, choices: [chunk] });
  }

  end(usage: SequenceUsage, kvTransfer: object | undefined): void {
    this.#write({
      request_id: this.#requestId,
      choices: [],
      usage: usageObject(usage),
      ...(kvTransfer !== undefined && { kv_transfer_params: kvTransfer }),
    });
    this.#response.end('data: [DONE]\n\n');
  }

  fail(message: string): void {
    this.#write(new ApiError(500, message).body);
    this.#response.end('data: [DONE]\n\n');
  }

  #write(chunk: object): void {
    this.#response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }
}

/** A generated token has at most four bytes of text, and so one id. */
export function idsOf(texts: readonly string[]): number[] {
  return texts.flatMap((text) => shownIds(tokenIdsOf(Buffer.from(text))));
}
