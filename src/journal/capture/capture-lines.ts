import type { Endpoint } from '../../framework/endpoint.ts';
import type { Outcome, Usage } from '../../framework/observer.ts';
import type { InferenceRequest, PromptBlocks } from '../../framework/request.ts';
import type { HeldSum, RouteOptions } from '../../framework/routing.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { Expectation } from '../../picker/events/journal.ts';
import type { CapturedDecision, CaptureRecord } from './capture-record.ts';
import { LineBytes, utf8 } from './line-bytes.ts';
import { type Redacted, RequestBytes } from './request-bytes.ts';

/**
 * Takes whole lines of JSON in UTF-8, overwritten after it returns, and their number. Must not
 * throw or take long: requests wait for it.
 */
export type Sink = (lines: Uint8Array, records: number) => void;

export interface Decided {
  readonly request: InferenceRequest;
  readonly redacted: Redacted;
  readonly options: RouteOptions;
  readonly heldBefore: readonly HeldSum[] | undefined;
  readonly crowdedOut: boolean;
  readonly adoptionsAgo: number;
  readonly changesAgo: number;
  readonly expected: Expectation | undefined;
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
  comma: utf8(','),
  subset: utf8(',"subset":'),
  noFirstToken: utf8(',"firstTokenSeen":false'),
  noEnd: utf8(',"endSeen":false'),
  waited: utf8(',"waitedMs":'),
  held: utf8(',"held":'),
  crowdedOut: utf8(',"crowdedOut":true'),
  adoptionsAgo: utf8(',"adoptionsAgo":'),
  changesAgo: utf8(',"changesAgo":'),
  expected: utf8(',"expected":'),
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
  readonly #requests = new RequestBytes(this.#bytes);
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
    const { request, redacted, options, heldBefore, adoptionsAgo, changesAgo, decision } = decided;
    const bytes = this.#bytes;
    this.#begin(KEYS.q, t, n);
    this.#requests.write(request, redacted);
    const { subset, firstTokenVisible = false, endVisible = true } = options;
    if (subset !== undefined) {
      bytes.raw(KEYS.subset);
      bytes.json(subset);
    }
    if (!firstTokenVisible) bytes.raw(KEYS.noFirstToken);
    if (!endVisible) bytes.raw(KEYS.noEnd);
    this.#bytes.numberField(KEYS.waited, options.waited?.heldMs);
    if (heldBefore !== undefined) {
      bytes.raw(KEYS.held);
      bytes.json(heldBefore);
    }
    if (decided.crowdedOut) bytes.raw(KEYS.crowdedOut);
    if (adoptionsAgo > 0) bytes.numberField(KEYS.adoptionsAgo, adoptionsAgo);
    if (changesAgo !== adoptionsAgo) bytes.numberField(KEYS.changesAgo, changesAgo);
    if (decided.expected !== undefined) {
      const { cachedTokens, prefillCachedTokens, estimatedOutputTokens = null } = decided.expected;
      bytes.raw(KEYS.expected);
      bytes.json([cachedTokens, prefillCachedTokens, estimatedOutputTokens]);
    }
    this.#decision(decision);
    this.#end(KEYS.decisionEnd);
  }

  bodyRead(t: Millis, n: number, request: InferenceRequest, redacted: Redacted): void {
    this.#begin(KEYS.body, t, n);
    this.#requests.write(request, redacted);
    this.#end(KEYS.end);
  }

  answered(t: Millis, n: number, conversation: PromptBlocks): void {
    this.#begin(KEYS.answer, t, n);
    this.#requests.writePrompt(conversation);
    this.#end(KEYS.end);
  }

  firstToken(t: Millis, n: number): void {
    this.#begin(KEYS.first, t, n);
    this.#end(KEYS.end);
  }

  served(t: Millis, n: number, address: string): void {
    this.#begin(KEYS.served, t, n);
    this.#bytes.textField(KEYS.address, address);
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
    if (outcome !== 'completed') this.#bytes.textField(KEYS.outcome, outcome);
    if (usage !== undefined) {
      this.#bytes.numberField(KEYS.usage, usage.promptTokens);
      this.#bytes.numberField(KEYS.comma, usage.completionTokens);
      bytes.raw(KEYS.comma);
      if (usage.cachedTokens === undefined) bytes.raw(KEYS.nothing);
      else bytes.number(usage.cachedTokens);
      bytes.raw(KEYS.arrayEnd);
    }
    this.#bytes.numberField(KEYS.bytes, responseBytes);
    this.#end(KEYS.end);
  }

  sampled({ id, metrics }: Endpoint): void {
    const bytes = this.#bytes;
    bytes.raw(KEYS.m);
    bytes.known(id);
    this.#bytes.numberField(KEYS.sample, metrics.waitingQueueSize);
    this.#bytes.numberField(KEYS.comma, metrics.runningRequests);
    this.#bytes.numberField(KEYS.comma, metrics.kvCacheUsage);
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

  #decision(decision: CapturedDecision): void {
    if ('error' in decision) {
      this.#bytes.textField(KEYS.error, decision.error);
    } else {
      this.#bytes.textField(KEYS.endpoint, decision.endpoint);
      if (!Number.isNaN(decision.score)) {
        this.#bytes.raw(KEYS.score);
        this.#bytes.exact(decision.score);
      }
      if (decision.prefill !== undefined) this.#bytes.textField(KEYS.prefill, decision.prefill);
    }
    if (decision.by !== undefined) this.#bytes.textField(KEYS.by, decision.by);
  }
}
