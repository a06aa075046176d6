import type { SequenceUsage } from '../engine/sequence.ts';
import type { PlannedSequence } from '../http/answers/plan-sequences.ts';
import type { Reply } from '../http/answers/reply.ts';
import { idsOf } from '../http/answers/tokens-reply.ts';

interface ReplyOptions {
  readonly stream: boolean;
  readonly write: (message: object) => void;
  /** Ends the answer, with an error if there is one. */
  readonly end: (error?: string) => void;
}

/** The answer to a Generate request: chunks if they are wanted, then everything at once. */
export function grpcReply({ answer, promptTokens }: PlannedSequence, options: ReplyOptions): Reply {
  const { stream, write, end } = options;
  const tokensFrom = (from: number, to: number): number[] =>
    idsOf(Array.from({ length: to - from }, (_, at) => answer.text(from + at)));
  let sent = 0;
  return {
    token: (_, count) => {
      if (!stream) return;
      const counts = { prompt_tokens: promptTokens, completion_tokens: count };
      write({ chunk: { token_ids: tokensFrom(sent, count), ...counts } });
      sent = count;
    },
    end: ({ completionTokens, cachedTokens }: SequenceUsage) => {
      const complete = {
        output_ids: tokensFrom(0, completionTokens),
        finish_reason: answer.end === 'length' ? 'length' : 'stop',
        prompt_tokens: promptTokens,
        completion_tokens: completionTokens,
        cached_tokens: cachedTokens,
      };
      write({ complete });
      end();
    },
    fail: (message) => end(message),
  };
}
