import type { ServerResponse } from 'node:http';
import { near } from '../../engine/normal.ts';
import type { SequenceUsage } from '../../engine/sequence.ts';
import { ApiError, sendJson } from '../replica/api-error.ts';
import type { GenerateCall } from '../requests/call.ts';
import { encodingsOf } from '../requests/media.ts';
import type { GenerationApi, GenerationTerms } from '../requests/read-generation.ts';
import { hasImage } from './chat-image.ts';
import { type EventFormat, EventReply } from './event-reply.ts';
import { loadReport } from './load-report.ts';
import { MessagesFormat } from './messages-format.ts';
import type { PlannedSequence } from './plan-sequences.ts';
import { ResponsesFormat } from './responses-format.ts';
import { StreamReply } from './stream-reply.ts';
import { TokensReply, wholeTokens } from './tokens-reply.ts';
import { type Envelope, wholeReply } from './whole-reply.ts';

/** The answer to a client, streamed or in one piece. */
export interface Reply {
  /** `count` tokens of an answer are generated now. */
  token(index: number, count: number): void;
  end(usage: SequenceUsage, kvTransfer: object | undefined): void;
  fail(message: string): void;
}

export interface ReplyCall extends Pick<GenerateCall, 'replica' | 'requestId' | 'headers'> {
  readonly response: ServerResponse;
}

/** What an API puts before the id of a request to name its answer. */
const ID_PREFIX: Readonly<Record<GenerationApi, string>> = {
  chat: 'chatcmpl-',
  completions: 'cmpl-',
  responses: 'resp_',
  messages: 'msg_',
  tokens: '',
};

/** The answer in the format of the request's API. */
function replyTo(
  terms: GenerationTerms,
  call: ReplyCall,
  sequences: readonly PlannedSequence[],
): Reply {
  const { replica, requestId } = call;
  const envelope: Envelope = {
    id: ID_PREFIX[terms.api] + requestId,
    created: Math.floor(replica.clock.wallTime() / 1000),
    model: terms.model,
  };
  return terms.stream
    ? streamedReply(terms, call, { envelope, sequences })
    : replyInOnePiece(terms, call, { envelope, sequences });
}

interface ReplyParts {
  readonly envelope: Envelope;
  readonly sequences: readonly PlannedSequence[];
}

function streamedReply(
  terms: GenerationTerms,
  { replica, response }: ReplyCall,
  { envelope, sequences }: ReplyParts,
): Reply {
  const lateMs = (): number => replica.engine.latenessMs / replica.options.speed;
  const format = formatOf(terms, { envelope, sequences });
  const [only] = sequences;
  if (format !== undefined && only !== undefined) {
    const { answer, promptTokens } = only;
    return new EventReply(format, { response, answer, promptTokens, lateMs });
  }
  const answers = sequences.map(({ answer }) => answer);
  if (terms.api === 'tokens') return new TokensReply(envelope.id, { response, answers, lateMs });
  const promptTokens = sequences.map((each) => each.promptTokens);
  return new StreamReply(terms, { response, envelope, answers, promptTokens, lateMs });
}

function replyInOnePiece(
  terms: GenerationTerms,
  { replica, response, headers }: ReplyCall,
  parts: ReplyParts,
): Reply {
  return {
    token: () => undefined,
    end: (usage, kvTransfer) => {
      const encodings = encodingsOf(terms, replica);
      const body = { ...wholeBody(terms, parts, { usage, kvTransfer }), ...encodings };
      const reports = terms.api === 'chat' || terms.api === 'completions';
      for (const header of reports ? loadReport(headers, replica) : []) {
        response.setHeader(...header);
      }
      sendJson(response, 200, body, { truncated: replica.faults.truncates });
    },
    fail: (message) => sendJson(response, 500, new ApiError(500, message).body),
  };
}

function wholeBody(
  terms: GenerationTerms,
  { envelope, sequences }: ReplyParts,
  end: { readonly usage: SequenceUsage; readonly kvTransfer: object | undefined },
): object {
  const answers = sequences.map(({ answer }) => answer);
  const format = formatOf(terms, { envelope, sequences });
  if (format !== undefined) return format.whole(end.usage, end.kvTransfer);
  if (terms.api === 'tokens') return wholeTokens(envelope.id, answers, end);
  return wholeReply(terms, { envelope, answers, ...end });
}

interface WholeFormat extends EventFormat {
  whole(usage: SequenceUsage, kvTransfer: object | undefined): object;
}

/** The format of an API that gives one answer. */
function formatOf(
  { api }: GenerationTerms,
  { envelope, sequences: [only] }: ReplyParts,
): WholeFormat | undefined {
  if (only === undefined) return undefined;
  if (api === 'responses') return new ResponsesFormat(envelope, only.answer);
  return api === 'messages' ? new MessagesFormat(envelope, only.answer) : undefined;
}

/** The reply ends later by the time that its image takes. */
function afterImage(reply: Reply, { replica, response }: ReplyCall): Reply {
  const { clock, random, live } = replica;
  return {
    token: (index, count) => reply.token(index, count),
    fail: (message) => reply.fail(message),
    end: (usage, kvTransfer) => {
      const { ms = 0, deviationMs = 0 } = live.images ?? {};
      const timer = clock.setTimer(near(ms, deviationMs, random), () => {
        reply.end(usage, kvTransfer);
      });
      response.on('close', () => timer.cancel());
    },
  };
}

/** Gets the answer to a request. */
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
    begin: (terms, sequences) => {
      if (!hasImage(terms, call)) return replyTo(terms, call, sequences);
      return afterImage(replyTo({ ...terms, withImage: true }, call, sequences), call);
    },
    cut: () => {
      // It still sends the tokens before. Each call would add a listener.
      if (!isCut) response.socket?.destroySoon();
      isCut = true;
    },
    onClosed: (callback) => void response.on('close', callback),
  };
}
