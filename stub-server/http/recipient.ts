import type { PlannedSequence } from './plan-sequences.ts';
import type { GenerationTerms } from './read-generation.ts';
import { type Reply, type ReplyCall, replyTo } from './reply.ts';

/** Who gets the answer to a request. */
export interface Recipient {
  /** Called once, when the answer is planned and before any of it is generated. */
  begin(terms: GenerationTerms, sequences: readonly PlannedSequence[]): Reply;
  /** Cuts the connection after what was sent. */
  cut(): void;
  /** Calls back when the recipient has all of the answer, or has left. */
  onClosed(callback: () => void): void;
}

/** A client of HTTP. */
export function httpRecipient(call: ReplyCall): Recipient {
  const { response } = call;
  let isCut = false;
  return {
    begin: (terms, sequences) => replyTo(terms, call, sequences),
    cut: () => {
      // It still sends the tokens before. Each call would add a listener.
      if (!isCut) response.socket?.destroySoon();
      isCut = true;
    },
    onClosed: (callback) => void response.on('close', callback),
  };
}
