import type { Endpoint } from '../../framework/endpoint.ts';
import type { Outcome, Usage } from '../../framework/observer.ts';
import { DEFAULT_FLOW, type InferenceRequest, type PromptBlocks } from '../../framework/request.ts';
import type { HeldSum, RouteOptions } from '../../framework/routing.ts';
import type { Millis } from '../../framework/runtime.ts';
import { BlockNumbers } from './block-numbers.ts';
import type { CapturedDecision, CaptureRecord } from './capture-record.ts';
import { LineBytes, utf8 } from './line-bytes.ts';
import { DEFAULT_BLOCK_TOKENS } from './record-of.ts';

/**
 * Takes whole lines of JSON in UTF-8, overwritten after it returns, and their number. Must not
 * throw or take long: requests wait for it.
 */
export type Sink = (lines: Uint8Array, records: number) => void;

/** A request's headers and fairness id as a capture may hold them. */
export interface Redacted {
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly fairness: string;
}

export interface Decided {
  readonly request: InferenceRequest;
  readonly redacted: Redacted;
  readonly options: RouteOptions;
  readonly held: readonly HeldSum[] | undefined;
  readonly crowdedOut: boolean;
  readonly decision: CapturedDecision;
}

/** Lines are handed over when this many bytes are gathered, or sooner by `drain`. */
const HAND_OVER_BYTES = 64 * 1024;

const KEYS = {
  q: utf8('{"e":"q","t":'),
  body: utf8('{"e":"body","t":'),
  answer: utf8('{"e":"answer","t":'),
  first: utf8('{"e":"first","t":'),
  served: utf8('{"e":"served","t":'),
  done: utf8('{"e":"done","t":'),
  m: utf8('{"e":"m","id":'),
  n: utf8(',"n":'),
  r: utf8(',"r":{"id":'),
  model: utf8(',"model":'),
  promptTokens: utf8(',"promptTokens":'),
  bodyBytes: utf8(',"bodyBytes":'),
  blocks: utf8(',"blocks":[['),
  run: utf8('],['),
  comma: utf8(','),
  blocksEnd: utf8(']]'),
  rest: utf8(',"rest":'),
  blockTokens: utf8(',"blockTokens":'),
  notStreaming: utf8(',"streaming":false'),
  outputTokensMax: utf8(',"outputTokensMax":'),
  mediaItems: utf8(',"mediaItems":'),
  priority: utf8(',"priority":'),
  fairness: utf8(',"fairness":'),
  objective: utf8(',"objective":'),
  ttftSloMs: utf8(',"ttftSloMs":'),
  tpotSloMs: utf8(',"tpotSloMs":'),
  rewrite: utf8(',"rewrite":'),
  headers: utf8(',"headers":'),
  requestEnd: utf8('}'),
  subset: utf8(',"subset":'),
  noFirstToken: utf8(',"firstTokenSeen":false'),
  noEnd: utf8(',"endSeen":false'),
  waited: utf8(',"waitedMs":'),
  held: utf8(',"held":'),
  crowdedOut: utf8(',"crowdedOut":true'),
  endpoint: utf8(',"d":{"endpoint":'),
  error: utf8(',"d":{"error":'),
  score: utf8(',"score":'),
  prefill: utf8(',"prefill":'),
  by: utf8(',"by":'),
  decisionEnd: utf8('}}\n'),
  address: utf8(',"address":'),
  outcome: utf8(',"o":'),
  usage: utf8(',"u":['),
  nothing: utf8('null'),
  arrayEnd: utf8(']'),
  bytes: utf8(',"bytes":'),
  sample: utf8(',"m":['),
  sampleEnd: utf8(']}\n'),
  end: utf8('}\n'),
  newline: utf8('\n'),
} as const;

/**
 * Writes records as lines of JSON; those of requests by hand, as JSON.stringify takes twice the
 * CPU. Leaves out values that are the default of `recordOf`.
 */
export class CaptureLines {
  readonly #sinks: Sink[] = [];
  readonly #bytes = new LineBytes();
  readonly #blocks = new BlockNumbers();
  #records = 0;

  listen(sink: Sink): void {
    this.#sinks.push(sink);
  }

  drain(): void {
    if (this.#records === 0) return;
    const records = this.#records;
    this.#records = 0;
    const lines = this.#bytes.take();
    for (const sink of this.#sinks) sink(lines, records);
  }

  record(record: CaptureRecord): void {
    this.#bytes.json(record);
    this.#end(KEYS.newline);
  }

  decided(t: Millis, n: number, decided: Decided): void {
    const { request, redacted, options, held, decision } = decided;
    const bytes = this.#bytes;
    this.#begin(KEYS.q, t, n);
    this.#request(request, redacted);
    const { subset, firstTokenSeen = false, endSeen = true } = options;
    if (subset !== undefined) {
      bytes.raw(KEYS.subset);
      bytes.json(subset);
    }
    if (!firstTokenSeen) bytes.raw(KEYS.noFirstToken);
    if (!endSeen) bytes.raw(KEYS.noEnd);
    this.#number(KEYS.waited, options.waited?.waitedMs);
    if (held !== undefined) {
      bytes.raw(KEYS.held);
      bytes.json(held);
    }
    if (decided.crowdedOut) bytes.raw(KEYS.crowdedOut);
    this.#decision(decision);
    this.#end(KEYS.decisionEnd);
  }

  bodyRead(t: Millis, n: number, request: InferenceRequest, redacted: Redacted): void {
    this.#begin(KEYS.body, t, n);
    this.#request(request, redacted);
    this.#end(KEYS.end);
  }

  answered(t: Millis, n: number, conversation: PromptBlocks): void {
    this.#begin(KEYS.answer, t, n);
    this.#prompt(conversation);
    this.#end(KEYS.end);
  }

  firstToken(t: Millis, n: number): void {
    this.#begin(KEYS.first, t, n);
    this.#end(KEYS.end);
  }

  served(t: Millis, n: number, address: string): void {
    this.#begin(KEYS.served, t, n);
    this.#name(KEYS.address, address);
    this.#end(KEYS.end);
  }

  done(
    t: Millis,
    n: number,
    outcome: Outcome,
    usage: Usage | undefined,
    responseBytes?: number,
  ): void {
    const bytes = this.#bytes;
    this.#begin(KEYS.done, t, n);
    if (outcome !== 'completed') this.#name(KEYS.outcome, outcome);
    if (usage !== undefined) {
      this.#number(KEYS.usage, usage.promptTokens);
      this.#number(KEYS.comma, usage.completionTokens);
      bytes.raw(KEYS.comma);
      if (usage.cachedTokens === undefined) bytes.raw(KEYS.nothing);
      else bytes.number(usage.cachedTokens);
      bytes.raw(KEYS.arrayEnd);
    }
    this.#number(KEYS.bytes, responseBytes);
    this.#end(KEYS.end);
  }

  sampled({ id, metrics }: Endpoint): void {
    const bytes = this.#bytes;
    bytes.raw(KEYS.m);
    bytes.known(id);
    this.#number(KEYS.sample, metrics.waitingQueueSize);
    this.#number(KEYS.comma, metrics.runningRequests);
    this.#number(KEYS.comma, metrics.kvCacheUsage);
    bytes.raw(KEYS.comma);
    bytes.time(metrics.sampledAt);
    this.#end(KEYS.sampleEnd);
  }

  #begin(key: Uint8Array, t: Millis, n: number): void {
    const bytes = this.#bytes;
    bytes.raw(key);
    bytes.time(t);
    bytes.raw(KEYS.n);
    bytes.number(n);
  }

  #end(key: Uint8Array): void {
    this.#bytes.raw(key);
    this.#records += 1;
    if (this.#bytes.length >= HAND_OVER_BYTES) this.drain();
  }

  #request(request: InferenceRequest, { headers, fairness }: Redacted): void {
    const bytes = this.#bytes;
    bytes.raw(KEYS.r);
    bytes.text(request.id);
    this.#name(KEYS.model, request.model);
    this.#number(KEYS.promptTokens, request.promptTokens);
    this.#number(KEYS.bodyBytes, request.bodyBytes);
    this.#prompt(request.prompt);
    if (!request.streaming) bytes.raw(KEYS.notStreaming);
    if (request.priority !== 0) this.#number(KEYS.priority, request.priority);
    if (request.fairnessId !== DEFAULT_FLOW) this.#name(KEYS.fairness, fairness);
    this.#number(KEYS.outputTokensMax, request.outputTokensMax);
    this.#number(KEYS.mediaItems, request.mediaItems);
    this.#number(KEYS.ttftSloMs, request.ttftSloMs);
    this.#number(KEYS.tpotSloMs, request.tpotSloMs);
    if (request.objective !== undefined) this.#name(KEYS.objective, request.objective);
    this.#json(KEYS.rewrite, request.rewrite);
    this.#json(KEYS.headers, headers);
    bytes.raw(KEYS.requestEnd);
  }

  #prompt({ count, words, blockTokens, hasRest }: PromptBlocks): void {
    const firstNew = this.#blocks.next;
    let first = 0;
    let length = 0;
    for (let word = 0; word < 2 * count; word += 2) {
      const afterNew = length > 0 && first + length > firstNew;
      const number = this.#blocks.numberOf(
        words[word] as number,
        words[word + 1] as number,
        afterNew,
      );
      if (length > 0 && number === first + length) length += 1;
      else {
        if (length > 0) this.#run(first, length, KEYS.run);
        else this.#bytes.raw(KEYS.blocks);
        first = number;
        length = 1;
      }
    }
    if (length > 0) this.#run(first, length, KEYS.blocksEnd);
    if (hasRest === true) {
      const afterNew = length > 0 && first + length > firstNew;
      const [low, high] = [words[2 * count] as number, words[2 * count + 1] as number];
      this.#number(KEYS.rest, this.#blocks.numberOf(low, high, afterNew));
    }
    if (blockTokens !== DEFAULT_BLOCK_TOKENS) this.#number(KEYS.blockTokens, blockTokens);
  }

  #run(first: number, length: number, after: Uint8Array): void {
    const bytes = this.#bytes;
    bytes.number(first);
    bytes.raw(KEYS.comma);
    bytes.number(length);
    bytes.raw(after);
  }

  #decision(decision: CapturedDecision): void {
    if ('error' in decision) {
      this.#name(KEYS.error, decision.error);
      return;
    }
    this.#name(KEYS.endpoint, decision.endpoint);
    if (!Number.isNaN(decision.score)) {
      this.#bytes.raw(KEYS.score);
      this.#bytes.exact(decision.score);
    }
    if (decision.prefill !== undefined) this.#name(KEYS.prefill, decision.prefill);
    if (decision.by !== undefined) this.#name(KEYS.by, decision.by);
  }

  #name(key: Uint8Array, value: string): void {
    this.#bytes.raw(key);
    this.#bytes.known(value);
  }

  #number(key: Uint8Array, value: number | undefined): void {
    if (value === undefined) return;
    this.#bytes.raw(key);
    this.#bytes.number(value);
  }

  #json(key: Uint8Array, value: object | undefined): void {
    if (value === undefined) return;
    this.#bytes.raw(key);
    this.#bytes.json(value);
  }
}
