import {
  type HeldBlocks,
  PRECISE_PREFIX_PRODUCER,
  type PrefixMatch,
  prefixMatchKey,
} from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { LORA } from '../../framework/endpoint-attributes.ts';
import type { Outcome, Routed, Usage } from '../../framework/observer.ts';
import {
  type DataSourceDefinition,
  type DataSourceHost,
  defineDataSource,
  type Producer,
  type Stopwatch,
} from '../../framework/plugin.ts';
import {
  blockCount,
  type InferenceRequest,
  type PromptBlocks,
  textsOf,
} from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import { UNLIMITED_APPROX_CONFIG } from '../../plugins/producers/approx-prefix-config.ts';
import { ApproxPrefixIndex } from '../../plugins/producers/approx-prefix-index.ts';
import type { EndpointEvents } from './endpoint-events.ts';
import { EventSubscriptions } from './event-subscriptions.ts';
import { type PrecisePrefixConfig, precisePrefixConfig } from './precise-config.ts';
import { PrecisePrompts, type PreparedPrompt } from './precise-prompts.ts';

/**
 * Exact prefix matches: KV events name the blocks that engines hold, token ids those of a prompt.
 * Where either is unknown, the match is estimated from what was sent, and counted as approximate.
 */
export const precisePrefixProducer: DataSourceDefinition = defineDataSource<PrecisePrefixConfig>({
  type: PRECISE_PREFIX_PRODUCER,
  config: precisePrefixConfig,
  uncaptured: 'KV events',
  provides: (_config, name) => [prefixMatchKey(name)],
  start: (parsed, host) => new PrecisePrefixIndex(parsed, host),
});

/** Requests by the source of their match. */
interface MatchCounts {
  /** The tokens were known, so that events could be used. */
  precise: number;
  /** The tokens were not known. */
  approximate: number;
  /** The most blocks that an endpoint's events had of a prompt, added up over prompts. */
  hits: number;
}

/** What a request's match at each endpoint is computed from. */
interface Query {
  readonly prompt: PreparedPrompt;
  readonly model: string;
  readonly approximate: PrefixMatch;
  readonly now: Millis;
  /** The most blocks that an endpoint's events have had so far. */
  best: number;
  /** What the look-ups at endpoints have taken so far, where they are timed. */
  tookMs: Millis;
}

export class PrecisePrefixIndex implements Producer {
  readonly facts: Producer['facts'];
  readonly prompts: PrecisePrompts;
  readonly matches: MatchCounts = { precise: 0, approximate: 0, hits: 0 };
  readonly #config: PrecisePrefixConfig;
  readonly subscriptions: EventSubscriptions;
  readonly #approx: ApproxPrefixIndex;
  #stopwatch: Stopwatch | undefined;
  /** The last prompt looked up, until its time is reported. */
  #timed: Query | undefined;

  constructor(config: PrecisePrefixConfig, host: DataSourceHost) {
    this.#config = config;
    this.#approx = new ApproxPrefixIndex(UNLIMITED_APPROX_CONFIG, `${host.name}/approximate`);
    this.subscriptions = new EventSubscriptions(config, host, (endpoint) =>
      this.#approx.forget(endpoint),
    );
    this.prompts = new PrecisePrompts(host, this.subscriptions);
    this.facts = [
      {
        key: prefixMatchKey(host.name),
        compute: (_endpoints, { request, now }) => this.#match(request, now),
      },
    ];
  }

  size(endpoint: Endpoint): number {
    return this.events(endpoint)?.view.blocks.size ?? 0;
  }

  events(endpoint: Endpoint): EndpointEvents | undefined {
    return this.subscriptions.of(endpoint);
  }

  prepare(request: InferenceRequest, body: readonly Uint8Array[], ready: () => void): boolean {
    return this.prompts.prepare(request, body, ready);
  }

  onEndpointAdded(endpoint: Endpoint): void {
    this.#approx.onEndpointAdded(endpoint);
    this.subscriptions.add(endpoint);
  }

  onEndpointRemoved(endpoint: Endpoint): void {
    this.#approx.onEndpointRemoved(endpoint);
    this.subscriptions.remove(endpoint);
  }

  onEndpointChanged(endpoint: Endpoint, previous: Endpoint): void {
    this.#approx.onEndpointChanged(endpoint, previous);
    if (endpoint.address !== previous.address || endpoint.labels !== previous.labels) {
      this.subscriptions.add(endpoint);
    }
  }

  timeLookups(stopwatch: Stopwatch): void {
    this.#stopwatch = stopwatch;
  }

  onRouted(routed: Routed): void {
    this.#reportTime();
    this.#approx.onRouted(routed);
    if (!this.#config.speculative) return;
    const { request, endpoint, at } = routed;
    const events = this.events(endpoint);
    const blocks = events && this.#blocksFor(this.prompts.of(request), events);
    if (blocks === undefined) return;
    for (const text of textsOf(blocks)) events?.recent.add(text, at);
  }

  onBodyRead(routed: Routed, request: InferenceRequest): void {
    this.#approx.onBodyRead(routed, request);
  }

  onAnswered(routed: Routed, conversation: PromptBlocks): void {
    this.#approx.onAnswered(routed, conversation);
  }

  onDone(routed: Routed, at: Millis, outcome: Outcome, usage: Usage | undefined): void {
    this.#approx.onDone(routed, at, outcome, usage);
    // A prompt without a whole block leaves nothing to publish.
    const { prompt } = routed.request;
    if (outcome === 'completed' && blockCount(prompt) > 0)
      this.events(routed.endpoint)?.requestEnded();
  }

  stop(): void {
    this.subscriptions.close();
    this.#approx.stop();
  }

  /**
   * Endpoints are looked up where a plugin asks for them, so that a look-up ends with its decision.
   */
  #reportTime(): void {
    if (this.#timed !== undefined) this.#stopwatch?.observe(this.#timed.tookMs);
    this.#timed = undefined;
  }

  #match(request: InferenceRequest, now: Millis): PrefixMatch {
    this.#reportTime();
    const approximate = this.#approx.match(request);
    const prompt = this.prompts.of(request);
    if (prompt === undefined) {
      this.matches.approximate += 1;
      return approximate;
    }
    this.matches.precise += 1;
    const { blockTokens } = this.#config;
    const totalBlocks = prompt.lengths.reduce(
      (sum, each) => sum + Math.floor(each / blockTokens),
      0,
    );
    const matched: (number | undefined)[] = [];
    const query: Query = { prompt, model: request.model, approximate, now, best: 0, tookMs: 0 };
    const stopwatch = this.#stopwatch;
    if (stopwatch !== undefined) this.#timed = query;
    return {
      totalBlocks,
      blockTokens,
      heldBlocks: (endpoint) => this.#heldBlocks(endpoint, query),
      matchedBlocks: (endpoint) => {
        const known = matched[endpoint.slot];
        if (known !== undefined) return known;
        const since = stopwatch?.now() ?? 0;
        const tokens = this.#matchedTokens(endpoint, query);
        if (stopwatch !== undefined) query.tookMs += stopwatch.now() - since;
        const found = Math.min(totalBlocks, Math.floor(tokens / blockTokens));
        matched[endpoint.slot] = found;
        return found;
      },
    };
  }

  #matchedTokens(endpoint: Endpoint, query: Query): number {
    const { prompt, model, approximate, now } = query;
    const events = this.events(endpoint);
    const blocks = events && this.#blocksFor(prompt, events);
    const knowledge = events?.view.knowledge ?? 'unknown';
    const estimated = (): number => estimatedTokens(approximate, endpoint, prompt.lengths);
    if (events === undefined || knowledge === 'unknown') return estimated();
    // Without a block size the engine has stored nothing yet.
    if (blocks === undefined) return knowledge === 'complete' ? 0 : estimated();
    if (!areOfModel(events, endpoint, model, prompt.adapter)) return 0;
    let hits = 0;
    let tokens = 0;
    for (const text of textsOf(blocks)) {
      const held = events.view.match(text.words, text.count);
      const sent = this.#config.speculative ? events.recent.matchedBlocks(text, now) : 0;
      hits += Math.floor((held * text.blockTokens) / this.#config.blockTokens);
      tokens += Math.max(held, sent) * text.blockTokens;
    }
    this.#countHits(query, hits);
    return knowledge === 'complete' ? tokens : Math.max(tokens, estimated());
  }

  /** By events alone, in our blocks. */
  #heldBlocks(endpoint: Endpoint, { prompt, model }: Query): HeldBlocks | undefined {
    const events = this.events(endpoint);
    const blocks = events && this.#blocksFor(prompt, events);
    if (events === undefined || blocks === undefined) return undefined;
    if (!areOfModel(events, endpoint, model, prompt.adapter)) return { inAnyTier: 0, onHost: 0 };
    const ours = blocks.blockTokens / this.#config.blockTokens;
    const sum = { inAnyTier: 0, onHost: 0 };
    for (const text of textsOf(blocks)) {
      const { inAnyTier, onHost } = events.view.held(text.words, text.count);
      sum.inAnyTier += Math.floor(inAnyTier * ours);
      sum.onHost += Math.floor(onHost * ours);
    }
    return sum;
  }

  #countHits(query: Query, blocks: number): void {
    if (blocks <= query.best) return;
    this.matches.hits += blocks - query.best;
    query.best = blocks;
  }

  #blocksFor(
    prompt: PreparedPrompt | undefined,
    { view }: EndpointEvents,
  ): PromptBlocks | undefined {
    return view.blockTokens === undefined ? undefined : prompt?.blocks.get(view.blockTokens);
  }
}

/** The cached share of the prompt by the approximate index, in tokens. */
function estimatedTokens(
  match: PrefixMatch,
  endpoint: Endpoint,
  lengths: readonly number[],
): number {
  if (match.totalBlocks === 0) return 0;
  const tokens = lengths.reduce((sum, each) => sum + each, 0);
  return (match.matchedBlocks(endpoint) / match.totalBlocks) * tokens;
}

/** Other names than adapters' and the topic's model are adapters without stored blocks. */
function areOfModel(
  { model: topicModel }: EndpointEvents,
  endpoint: Endpoint,
  model: string,
  isAdapter: boolean,
): boolean {
  if (isAdapter) return true;
  const lora = endpoint.attribute(LORA);
  if (lora !== undefined && (lora.running.has(model) || lora.waiting.has(model))) return false;
  return topicModel === undefined || topicModel === model || model === '';
}
