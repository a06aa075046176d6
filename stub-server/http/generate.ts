import type { ServerResponse } from 'node:http';
import type { Millis } from '../../src/framework/runtime.ts';
import type { Submission } from '../engine/sequence.ts';
import { type KvLegs, nixlAnswer } from '../pd/kv-contract.ts';
import { ApiError } from './api-error.ts';
import { type Envelope, idOf } from './envelope.ts';
import { Gathering } from './gathering.ts';
import type { GenerationRequest, GenerationTerms } from './generation-request.ts';
import { type Answer, planAnswer } from './plan-answer.ts';
import type { Replica } from './replica.ts';
import {
  engineIdOf,
  hitShare,
  legsOfRequest,
  type PromptKv,
  type ReplicaDirectory,
  remoteKvOf,
} from './sequence-kv.ts';
import { StreamReply } from './stream-reply.ts';
import { chainedHashes, TOKEN_BYTES, tokenIdsOf } from './tokenizer.ts';
import type { TokenUsage } from './usage.ts';
import { wholeReply } from './whole-reply.ts';

export interface GenerateOptions {
  readonly replica: Replica;
  readonly response: ServerResponse;
  readonly find: ReplicaDirectory;
  readonly requestId: string;
  /** When all of it was there, in model time. */
  readonly receivedAt: Millis;
  /** From a request header: exactly so many tokens. */
  readonly forcedTokens: number | undefined;
}

/** Answers one request of a generating API through the engine. Throws ApiError before anything is sent. */
export function generate(
  { prompts, ...request }: GenerationRequest,
  options: GenerateOptions,
): void {
  const { replica } = options;
  if (request.model !== replica.options.model && !replica.loras.has(request.model)) {
    throw new ApiError(404, `The model \`${request.model}\` does not exist.`, 'model');
  }
  const refused = replica.faults.errorStatus;
  if (refused !== undefined) throw new ApiError(refused, 'injected fault');
  const kv = legsOfRequest(request, options);
  const planned = plan(request, { ...options, kv, prompts });
  replica.stats.onParameters(request.n, request.outputTokensMax);
  const missing = belowThreshold(request, planned, replica);
  const sequences = missing ? planned.map(unanswered) : planned;
  const reply = replyTo(request, { ...options, answers: sequences.map(({ answer }) => answer) });
  if (missing) {
    for (const index of sequences.keys()) reply.token(index, 0);
    const promptTokens = sequences.reduce(
      (sum, { promptTokens: tokens, counts }) => sum + (counts ? tokens : 0),
      0,
    );
    reply.end({ promptTokens, completionTokens: 0, cachedTokens: 0 }, undefined);
  } else run(request, { ...options, kv, sequences, reply });
}

/** One answer to one prompt. */
interface Planned {
  readonly promptTokens: number;
  /** Of prompt and answer; undefined where nobody looks at them, so that they need not be kept for as long as it takes. */
  readonly tokenIds: Int32Array | undefined;
  /** Of the blocks of both. */
  readonly hashes: Float64Array;
  readonly answer: Answer;
  /** Whether its prompt counts in the usage: of several answers to one prompt only the first's. */
  readonly counts: boolean;
}

function plan(
  request: GenerationTerms,
  {
    prompts,
    replica,
    forcedTokens,
    kv,
  }: GenerateOptions & Pick<GenerationRequest, 'prompts'> & { readonly kv: KvLegs },
): readonly Planned[] {
  const { engine, random, options } = replica;
  const most = engine.contextTokensMax;
  const lora = replica.loras.has(request.model) ? request.model : '';
  return prompts.flatMap((prompt, place) => {
    checkLength(request, prompt.length, most);
    const root = `${lora}\n${request.cacheSalt}`;
    return Array.from({ length: request.n }, (_, choice) => {
      const chance =
        request.seed === undefined
          ? random.fork(`answer ${replica.stats.requests + place} ${choice}`)
          : random.fork(`seed ${request.seed} ${choice}`);
      const answer = planAnswer(request, chance, {
        forcedTokens: kv.prefill?.onlyPrefill === true ? 1 : forcedTokens,
        contextLeft: most - prompt.length,
      });
      const said = answerIds(answer);
      const { blockTokens } = options;
      const hashes = chainedHashes(prompt, { blockTokens, root, answer: said });
      const tokenIds = options.kvEventsPort === undefined ? undefined : joined(prompt, said);
      return { promptTokens: prompt.length, tokenIds, hashes, answer, counts: choice === 0 };
    });
  });
}

function answerIds(answer: Answer): Int32Array {
  const bytes = Buffer.alloc(TOKEN_BYTES * answer.tokens);
  for (let index = 0; index < answer.tokens; index++) {
    bytes.write(answer.text(index), TOKEN_BYTES * index, TOKEN_BYTES);
  }
  return tokenIdsOf(bytes);
}

function checkLength(
  { outputTokensMax }: GenerationTerms,
  promptTokens: number,
  most: number,
): void {
  const wanted = promptTokens + (outputTokensMax ?? 1);
  if (promptTokens < most && (outputTokensMax === undefined || wanted <= most)) return;
  throw new ApiError(
    400,
    `This model's maximum context length is ${most} tokens. However, you requested ${wanted} tokens (${promptTokens} in the messages, ${wanted - promptTokens} in the completion). Please reduce the length of the messages or completion.`,
  );
}

function belowThreshold(
  { cacheHitThreshold = 0 }: GenerationTerms,
  planned: readonly Planned[],
  replica: Replica,
): boolean {
  if (cacheHitThreshold === 0) return false;
  return planned.some((each) => hitShare(promptKv(each, replica), replica) < cacheHitThreshold);
}

/** Without the blocks that the answer fills. */
function promptKv({ promptTokens, hashes }: Planned, { options }: Replica): PromptKv {
  const blocks = Math.floor(promptTokens / options.blockTokens);
  return { tokens: promptTokens, hashes: hashes.subarray(0, blocks) };
}

function unanswered(planned: Planned): Planned {
  const text = (): string => '';
  return { ...planned, answer: { tokens: 0, end: 'cache_threshold', toolName: undefined, text } };
}

/** What a client hears, streamed or in one piece. */
interface Reply {
  token(index: number, count: number): void;
  end(usage: TokenUsage, kvTransfer: object | undefined): void;
  fail(message: string): void;
}

function replyTo(
  request: GenerationTerms,
  options: GenerateOptions & { readonly answers: readonly Answer[] },
): Reply {
  const { replica, response, requestId, answers } = options;
  const envelope: Envelope = {
    id: idOf(request.api, requestId),
    created: Math.floor(replica.clock.wallTime() / 1000),
    model: request.model,
  };
  if (request.stream) {
    const lateMs = (): number => replica.engine.latenessMs / replica.options.speed;
    return new StreamReply(request, { response, envelope, answers, lateMs });
  }
  return {
    token: () => undefined,
    end: (usage, kvTransfer) =>
      sendWhole(options, wholeReply(request, { envelope, answers, usage, kvTransfer })),
    fail: (message) => sendJson(response, 500, new ApiError(500, message).body),
  };
}

interface Run extends GenerateOptions {
  readonly kv: KvLegs;
  readonly sequences: readonly Planned[];
  readonly reply: Reply;
}

function run(request: GenerationTerms, parts: Run): void {
  const { replica, response, sequences, reply, kv } = parts;
  const { prefill } = kv;
  if (prefill !== undefined) replica.exchange.begin(prefill.key, replica.port);
  const finish = new Gathering(sequences.length, (usage, failed) => {
    if (failed) {
      if (prefill !== undefined) replica.exchange.abandon(prefill.key);
      reply.fail('the engine died');
      return;
    }
    for (const { hashes } of sequences) replica.store?.keep(hashes);
    if (prefill !== undefined) {
      replica.exchange.complete(prefill.key, () => {
        for (const submission of submissions) submission.release();
      });
    }
    reply.end(usage, prefill?.tells === true ? heldBlocks(parts, usage) : undefined);
  });
  const dropsAfter = request.stream ? replica.faults.dropsAfterTokens : undefined;
  const submissions = sequences.map((planned, index) =>
    submit(request, { ...parts, planned, dropsAfter, index, finish }),
  );
  response.on('close', () => {
    for (const submission of submissions) submission.abort();
    if (prefill !== undefined) replica.exchange.abandon(prefill.key);
  });
}

function submit(
  request: GenerationTerms,
  parts: Run & {
    readonly planned: Planned;
    readonly dropsAfter: number | undefined;
    readonly index: number;
    readonly finish: Gathering;
  },
): Submission {
  const { replica, response, receivedAt, find, kv, planned, reply, dropsAfter, index, finish } =
    parts;
  const { promptTokens, tokenIds, hashes, answer, counts } = planned;
  return replica.engine.submit({
    arrivedAt: receivedAt,
    promptTokens,
    tokenIds,
    blockHashes: hashes,
    outputTokens: answer.tokens,
    finishReason: answer.end === 'length' ? 'length' : 'stop',
    lora: replica.loras.has(request.model) ? request.model : undefined,
    priority: request.priority,
    holdBlocks: kv.prefill !== undefined,
    remote: remoteKvOf(promptKv(planned, replica), { replica, decode: kv.decode, find }),
    ...(request.stream && {
      onToken: (count) => {
        // What was said so far still goes out.
        if (dropsAfter !== undefined && count > dropsAfter) response.socket?.destroySoon();
        else reply.token(index, count);
      },
    }),
    onDone: (reason, usage) => {
      if (reason !== 'abort') finish.add(usage, { counts, failed: reason === 'error' });
    },
  });
}

function joined(prompt: Int32Array, said: Int32Array): Int32Array {
  const ids = new Int32Array(prompt.length + said.length);
  ids.set(prompt);
  ids.set(said, prompt.length);
  return ids;
}

function heldBlocks({ replica, requestId }: GenerateOptions, { promptTokens }: TokenUsage): object {
  const blocks = Math.ceil(promptTokens / replica.options.blockTokens);
  const { address } = replica;
  return nixlAnswer({ engineId: engineIdOf(replica), requestId, address, blocks });
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
