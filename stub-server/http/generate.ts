import type { ServerResponse } from 'node:http';
import { prefillAnswer, type ReplicaDirectory, remoteKvOf } from '../pd/nixl.ts';
import type { SequenceUsage, Submission } from '../sequence.ts';
import { ApiError } from './api-error.ts';
import { type Envelope, idOf } from './envelope.ts';
import type { GenerationRequest } from './generation-request.ts';
import { type Answer, planAnswer } from './plan-answer.ts';
import type { Replica } from './replica.ts';
import { StreamReply } from './stream-reply.ts';
import { chainedHashes } from './tokenizer.ts';
import type { TokenUsage } from './usage.ts';
import { wholeReply } from './whole-reply.ts';

export interface GenerateOptions {
  readonly replica: Replica;
  readonly response: ServerResponse;
  readonly find: ReplicaDirectory;
  readonly requestId: string;
  /** From a request header: exactly so many tokens. */
  readonly forcedTokens: number | undefined;
}

/** Answers one request of a generating API through the engine. Throws ApiError before anything is sent. */
export function generate(request: GenerationRequest, options: GenerateOptions): void {
  const { replica, response, requestId } = options;
  const isAdapter = replica.loras.has(request.model);
  if (request.model !== replica.options.model && !isAdapter) {
    throw new ApiError(404, `The model \`${request.model}\` does not exist.`, 'model');
  }
  const refused = replica.faults.errorStatus;
  if (refused !== undefined) throw new ApiError(refused, 'injected fault');
  const legs = legsOf(request, options);
  replica.stats.onParameters(request.n, request.outputTokensMax);
  const envelope: Envelope = {
    id: idOf(request.api, requestId),
    created: Math.floor(replica.clock.wallTime() / 1000),
    model: request.model,
  };
  const answers = legs.map(({ answer }) => answer);
  const stream = request.stream
    ? new StreamReply(request, {
        response,
        envelope,
        answers,
        lateMs: () => replica.engine.latenessMs / replica.options.speed,
      })
    : undefined;
  const finish = new Gathering(legs.length, (usage, error) => {
    const kvTransfer = error ? undefined : heldBlocks(request, options, usage);
    if (error && stream !== undefined) stream.fail('the engine died');
    else if (error) sendJson(response, 500, new ApiError(500, 'the engine died').body);
    else if (stream !== undefined) stream.end(usage, kvTransfer);
    else sendWhole(options, wholeReply(request, { envelope, answers, usage, kvTransfer }));
  });
  const dropsAfter = stream === undefined ? undefined : replica.faults.dropsAfterTokens;
  const submissions = legs.map((leg, index) =>
    submit(request, { ...options, leg, isAdapter, stream, dropsAfter, index, finish }),
  );
  const [first] = submissions;
  if (request.kvTransfer?.do_remote_decode === true && first !== undefined) {
    replica.transfers.hold(requestId, () => first.release());
  }
  response.on('close', () => {
    for (const submission of submissions) submission.abort();
  });
}

interface Leg {
  readonly prompt: Int32Array;
  readonly answer: Answer;
  /** Whether its prompt counts in the usage: of several answers to one prompt only the first's. */
  readonly counts: boolean;
}

function legsOf(
  request: GenerationRequest,
  { replica, forcedTokens }: GenerateOptions,
): readonly Leg[] {
  const { engine, random } = replica;
  const most = engine.contextTokensMax;
  return request.prompts.flatMap((prompt, place) => {
    const wanted = prompt.length + (request.outputTokensMax ?? 1);
    if (prompt.length >= most || (request.outputTokensMax !== undefined && wanted > most)) {
      throw new ApiError(
        400,
        `This model's maximum context length is ${most} tokens. However, you requested ${wanted} tokens (${prompt.length} in the messages, ${wanted - prompt.length} in the completion). Please reduce the length of the messages or completion.`,
      );
    }
    return Array.from({ length: request.n }, (_, choice) => {
      const chance =
        request.seed === undefined
          ? random.fork(`answer ${replica.stats.requests + place} ${choice}`)
          : random.fork(`seed ${request.seed} ${choice}`);
      const answer = planAnswer(request, chance, {
        forcedTokens,
        contextLeft: most - prompt.length,
      });
      return { prompt, answer, counts: choice === 0 };
    });
  });
}

function submit(
  request: GenerationRequest,
  parts: GenerateOptions & {
    readonly leg: Leg;
    readonly isAdapter: boolean;
    readonly stream: StreamReply | undefined;
    readonly dropsAfter: number | undefined;
    readonly index: number;
    readonly finish: Gathering;
  },
): Submission {
  const { replica, response, leg, isAdapter, stream, dropsAfter, index, finish, find } = parts;
  const { prompt, answer } = leg;
  const lora = isAdapter ? request.model : undefined;
  return replica.engine.submit({
    promptTokens: prompt.length,
    tokenIds: prompt,
    blockHashes: chainedHashes(prompt, {
      blockTokens: replica.options.blockTokens,
      root: `${lora ?? ''}\n${request.cacheSalt}`,
    }),
    outputTokens: answer.tokens,
    finishReason: answer.end === 'length' ? 'length' : 'stop',
    lora,
    priority: request.priority,
    holdBlocks: request.kvTransfer?.do_remote_decode === true,
    remote: remoteKvOf(request.kvTransfer, { promptTokens: prompt.length, find }),
    ...(stream && {
      onToken: (count) => {
        // What was said so far still goes out.
        if (dropsAfter !== undefined && count > dropsAfter) response.socket?.destroySoon();
        else stream.token(index, count);
      },
    }),
    onDone: (reason, usage) => {
      if (reason !== 'abort') finish.add(usage, { counts: leg.counts, failed: reason === 'error' });
    },
  });
}

/** Adds the legs of a request up and calls back when all are there, or at the first that failed. */
class Gathering {
  #left: number;
  readonly #done: (usage: TokenUsage, failed: boolean) => void;
  #usage: TokenUsage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };

  constructor(legs: number, done: (usage: TokenUsage, failed: boolean) => void) {
    this.#left = legs;
    this.#done = done;
  }

  add(
    usage: SequenceUsage,
    { counts, failed }: { readonly counts: boolean; readonly failed: boolean },
  ): void {
    if (this.#left === 0) return;
    const { promptTokens, completionTokens, cachedTokens } = this.#usage;
    this.#usage = {
      promptTokens: promptTokens + (counts ? usage.promptTokens : 0),
      completionTokens: completionTokens + usage.completionTokens,
      cachedTokens: cachedTokens + (counts ? usage.cachedTokens : 0),
    };
    this.#left = failed ? 0 : this.#left - 1;
    if (this.#left === 0) this.#done(this.#usage, failed);
  }
}

function heldBlocks(
  request: GenerationRequest,
  { replica, requestId }: GenerateOptions,
  usage: TokenUsage,
): object | undefined {
  if (request.kvTransfer?.do_remote_decode !== true) return undefined;
  const blocks = Math.ceil(usage.promptTokens / replica.options.blockTokens);
  return prefillAnswer(replica, requestId, blocks);
}

/** All of it, or half where the server's faults want it so. */
function sendWhole({ replica, response }: GenerateOptions, body: object): void {
  if (!replica.faults.truncates) {
    sendJson(response, 200, body);
    return;
  }
  const text = JSON.stringify(body);
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.write(text.slice(0, text.length / 2), () => response.destroy());
}

export function sendJson(response: ServerResponse, status: number, body: object): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
