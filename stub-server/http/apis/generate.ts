import type { SequenceRequest, SequenceUsage, Submission } from '../../engine/sequence.ts';
import { type KvLegs, nixlParams, type PrefillLeg } from '../../pd/kv-legs.ts';
import type { Answer } from '../answers/plan-answer.ts';
import { type PlannedSequence, planSequences } from '../answers/plan-sequences.ts';
import type { Recipient, Reply } from '../answers/reply.ts';
import { ApiError } from '../replica/api-error.ts';
import { rankFor, type StubReplica, servedName, submitTo } from '../replica/stub-replica.ts';
import {
  askedError,
  asksForCacheThreshold,
  forcedTokens,
  type GenerateCall,
} from '../requests/call.ts';
import type { GenerationRequest, GenerationTerms } from '../requests/read-generation.ts';
import {
  engineIdOf,
  hitShare,
  legsOfRequest,
  type PromptKv,
  remoteKvOf,
} from '../requests/sequence-kv.ts';

/** Answers a request of a generating API through the engine. Throws ApiError before any output. */
export function generate(
  request: GenerationRequest,
  received: GenerateCall,
  recipient: Recipient,
): void {
  const { prompts, asked, ...given } = request;
  const terms = { ...given, model: admittedName(given.model, received) };
  const replica = rankFor(received.headers, received.replica);
  refuseWhereFull(replica);
  const call = replica === received.replica ? received : { ...received, replica };
  const kv = legsOfRequest(terms, call);
  const { encoderOnly } = replica.options;
  const only = encoderOnly || kv.prefill?.onlyPrefill === true;
  const tokens = only ? 1 : forcedTokens(call.headers);
  const sequences = planSequences(terms, { replica, prompts, asked, forcedTokens: tokens });
  replica.stats.onParameters(terms.n, terms.outputTokensMax);
  const { cacheHitThreshold = replica.options.cacheHitThreshold } = terms;
  const missesCache = (each: PlannedSequence): boolean =>
    hitShare(promptKv(each, replica), replica) < cacheHitThreshold;
  const misses = cacheHitThreshold > 0 && sequences.some(missesCache);
  if (misses || asksForCacheThreshold(call.headers))
    sendEmpty(recipient.begin(terms, asEmpty(sequences)), sequences);
  else new RunningGeneration({ terms, call, recipient, kv, sequences }).start();
}

/** See `servedName`. Throws ApiError for a request that is to fail, too. */
function admittedName(model: string, { replica, headers }: GenerateCall): string {
  const { faults, live, random } = replica;
  const failure = askedError(headers) ?? live.drawnFailure(random);
  if (failure !== undefined) throw failure;
  const served = servedName(replica, model);
  const status = faults.errorStatus;
  if (status !== undefined) throw new ApiError(status, 'injected fault');
  return served;
}

function refuseWhereFull({ options: { waitingMax }, engine }: StubReplica): void {
  if (waitingMax !== undefined && engine.waitingCount >= waitingMax) {
    throw new ApiError(429, `${engine.waitingCount} requests wait already, the maximum`);
  }
}

/** Answers without tokens, because too little of the prompt is in the cache. */
function asEmpty(sequences: readonly PlannedSequence[]): readonly PlannedSequence[] {
  const text = (): string => '';
  const answer: Answer = { tokens: 0, end: 'cache_threshold', toolName: undefined, text };
  return sequences.map((sequence) => ({ ...sequence, answer }));
}

function sendEmpty(reply: Reply, sequences: readonly PlannedSequence[]): void {
  for (const index of sequences.keys()) reply.token(index, 0);
  const counted = sequences.filter(({ countsPrompt }) => countsPrompt);
  const promptTokens = counted.reduce((sum, sequence) => sum + sequence.promptTokens, 0);
  reply.end({ promptTokens, completionTokens: 0, cachedTokens: 0 }, undefined);
}

/** The part of a sequence's KV that the prompt fills. */
function promptKv({ promptTokens, hashes }: PlannedSequence, { options }: StubReplica): PromptKv {
  const blocks = Math.floor(promptTokens / options.blockTokens);
  return { tokens: promptTokens, hashes: hashes.subarray(0, blocks) };
}

const NO_PROMPT: Pick<PlannedSequence, 'promptTokens' | 'hashes'> = {
  promptTokens: 1,
  hashes: new Float64Array(0),
};

/** The media of a prompt for the engine, if there are any. */
function mediaOf({
  media,
  encodedElsewhere,
}: GenerationTerms): Partial<Pick<SequenceRequest, 'media'>> {
  if (media === undefined || media.length === 0) return {};
  return {
    media: media.map((each) => ({ ...each, isHere: encodedElsewhere?.has(each.hash) === true })),
  };
}

interface GenerationParts {
  readonly terms: GenerationTerms;
  readonly call: GenerateCall;
  readonly recipient: Recipient;
  readonly kv: KvLegs;
  readonly sequences: readonly PlannedSequence[];
}

/** The sequences of one request in the engine. */
class RunningGeneration {
  readonly #parts: GenerationParts;
  readonly #reply: Reply;
  /** Sequences that have not ended; 0 after a failure. */
  #left: number;
  #usage: SequenceUsage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
  #submissions: readonly Submission[] = [];

  constructor(parts: GenerationParts) {
    const { terms, recipient, sequences } = parts;
    this.#parts = parts;
    this.#left = sequences.length;
    this.#reply = recipient.begin(terms, sequences);
  }

  start(): void {
    const { terms, call, recipient, kv, sequences } = this.#parts;
    const { replica } = call;
    const { prefill } = kv;
    if (prefill !== undefined) replica.exchange.begin(prefill.key, replica.port);
    const dropsAfter = terms.stream ? replica.faults.dropsAfterTokens : undefined;
    this.#submissions = sequences.map((sequence, index) =>
      this.#submit(sequence, (count) => {
        if (dropsAfter !== undefined && count > dropsAfter) recipient.cut();
        else this.#reply.token(index, count);
      }),
    );
    recipient.onClosed(() => {
      for (const submission of this.#submissions) submission.abort();
      if (prefill !== undefined) replica.exchange.abandon(prefill.key);
    });
  }

  #submit(sequence: PlannedSequence, onToken: (count: number) => void): Submission {
    const { terms, call, kv } = this.#parts;
    const { replica, receivedAt, findReplica } = call;
    const { tokenIds, answer } = sequence;
    // Without the language model the prompt costs nothing but its media.
    const { promptTokens, hashes } = replica.options.encoderOnly ? NO_PROMPT : sequence;
    const { decode, prefill } = kv;
    return submitTo(replica, {
      arrivedAt: receivedAt,
      promptTokens,
      tokenIds,
      blockHashes: hashes,
      outputTokens: answer.tokens,
      finishReason: answer.end === 'length' ? 'length' : 'stop',
      lora: replica.loras.has(terms.model) ? terms.model : undefined,
      ...mediaOf(terms),
      priority: terms.priority,
      holdBlocks: prefill !== undefined,
      remote: remoteKvOf(promptKv(sequence, replica), { replica, decode, findReplica }),
      ...(terms.stream && { onToken }),
      onDone: (reason, usage) => {
        if (reason === 'abort' || this.#left === 0) return;
        if (reason === 'error') this.#fail();
        else this.#count(usage, sequence);
      },
    });
  }

  /** A prompt with several answers counts once. */
  #count(
    { completionTokens, cachedTokens }: SequenceUsage,
    { promptTokens, countsPrompt }: PlannedSequence,
  ): void {
    const sum = this.#usage;
    this.#usage = {
      promptTokens: sum.promptTokens + (countsPrompt ? promptTokens : 0),
      completionTokens: sum.completionTokens + completionTokens,
      cachedTokens: sum.cachedTokens + (countsPrompt ? cachedTokens : 0),
    };
    this.#left -= 1;
    if (this.#left === 0) this.#finish();
  }

  #finish(): void {
    const { call, kv, sequences } = this.#parts;
    const { replica } = call;
    const { prefill } = kv;
    for (const { hashes } of sequences) replica.store?.keep(hashes);
    if (prefill !== undefined) {
      replica.exchange.complete(prefill.key, () => {
        for (const submission of this.#submissions) submission.release();
      });
    }
    this.#reply.end(this.#usage, this.#paramsFor(prefill?.paramsFor));
  }

  #paramsFor(paramsFor: PrefillLeg['paramsFor']): object | undefined {
    if (paramsFor === undefined) return undefined;
    const { replica, requestId } = this.#parts.call;
    const { promptTokens, completionTokens } = this.#usage;
    // The last token has no KV: it has only been generated.
    const answered = paramsFor === 'next turn' ? completionTokens - 1 : 0;
    return nixlParams({
      engineId: engineIdOf(replica),
      requestId,
      address: replica.address,
      tokens: promptTokens + answered,
      blockTokens: replica.options.blockTokens,
      paramsFor,
    });
  }

  #fail(): void {
    const { call, kv } = this.#parts;
    this.#left = 0;
    if (kv.prefill !== undefined) call.replica.exchange.abandon(kv.prefill.key);
    this.#reply.fail('the engine died');
  }
}
