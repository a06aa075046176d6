import type { RemoteKv } from '../../../stub-server/engine/kv-cache/cached-sequence.ts';
import type {
  FinishReason,
  SequenceRequest,
  SequenceUsage,
  Submission,
} from '../../../stub-server/engine/sequence.ts';
import type { KvExchange } from '../../../stub-server/pd/kv-exchange.ts';
import { DATA_PARALLEL_RANK } from '../../framework/data-parallel-rank.ts';
import { RoutingError } from '../../framework/error.ts';
import { PREFILL_HEADER, type RoutedRequest } from '../../framework/routing.ts';
import type { Clock } from '../../framework/runtime.ts';
import type { EmbeddedPicker } from '../../library/create-picker.ts';
import { chainBlockIds } from '../../openai/prompts/chain-block-ids.ts';
import type { WholeResult } from '../run-summary/run-result.ts';
import type { TraceRequest } from '../traces/trace.ts';
import { isTooLong, windowOf } from './pool-spec.ts';
import type { ModelServer } from './simulated-server.ts';

/** A server, and its place among those of the pool, as results name it. */
export interface PlacedServer {
  readonly server: ModelServer;
  readonly place: number;
}

/** What all requests of a simulation share. */
export interface RequestParts {
  readonly clock: Clock;
  readonly servers: ReadonlyMap<string, PlacedServer>;
  /** Keeps the KV that one server computes for another, and carries it there. */
  readonly exchange: KvExchange;
  readonly blockTokens: number;
  /** The picker that decides the next request. */
  readonly nextPicker: () => EmbeddedPicker;
  /** Calls back after one hop of the network. */
  readonly afterOneHop: (callback: () => void) => void;
  readonly onEnd: (ended: SimulatedRequest) => void;
}

/** A routed request on its way to the server that decodes it. */
interface DecodeLeg {
  readonly routed: RoutedRequest;
  readonly server: ModelServer;
  /** By which the exchange knows its KV, if it was prefilled elsewhere. */
  readonly key?: string;
}

/** How often a request that is refused or lost before its first token is sent again. */
const RETRIES_MAX = 5;
/** The delay before a retry, because clients and gateways back off a little. */
const RETRY_AFTER_MS = 25;

/** One request of the trace, from its arrival through picker and servers to its end. */
export class SimulatedRequest {
  readonly result: WholeResult;
  /** No other request of the simulation has it: how many have arrived before. */
  readonly number: number;
  readonly #parts: RequestParts;
  readonly #blockHashes: Float64Array;

  constructor(request: TraceRequest, number: number, parts: RequestParts) {
    this.result = {
      request,
      server: -1,
      attempts: 0,
      ttftMs: Number.NaN,
      e2eMs: Number.NaN,
      cachedTokens: 0,
      completed: false,
    };
    this.number = number;
    this.#parts = parts;
    this.#blockHashes = blockHashesOf(request, parts.blockTokens);
  }

  /** Asks a picker for its place: at its arrival, and again after it was refused or lost. */
  attempt(): void {
    const { result } = this;
    const { blockTokens, nextPicker } = this.#parts;
    const { model, promptTokens, blockIds, priority, fairnessId } = result.request;
    result.attempts += 1;
    const placed = (routed: RoutedRequest): void => this.#send(routed);
    const refused = (error: unknown): void => {
      // It has waited for as long as it may.
      if (error instanceof RoutingError && error.code === 'queue-timeout') this.#end();
      else this.#retry();
    };
    let routed: RoutedRequest | undefined;
    try {
      const counted = {
        model,
        promptTokens,
        blockIds,
        blockTokens,
        ...(priority !== undefined && { priority }),
        ...(fairnessId !== undefined && { fairnessId }),
      };
      routed = nextPicker().enqueueWith(counted, { placed, refused });
    } catch (error) {
      refused(error);
    }
    if (routed !== undefined) placed(routed);
  }

  #send(routed: RoutedRequest): void {
    const { servers, afterOneHop } = this.#parts;
    const { server, place } = servers.get(routed.endpoint.id) as PlacedServer;
    this.result.server = place;
    this.result.prefill = undefined;
    const prefiller = servers.get(routed.headers.get(PREFILL_HEADER) ?? '');
    afterOneHop(() => {
      if (prefiller === undefined) this.#decode({ routed, server });
      else this.#prefill({ routed, server }, prefiller);
    });
  }

  /**
   * Prefills on another server first, as the sidecar beside the decoding server does. If that
   * fails, the decoding server computes the whole prompt.
   */
  #prefill(leg: DecodeLeg, { server: prefiller, place }: PlacedServer): void {
    const { exchange, afterOneHop } = this.#parts;
    const { result } = this;
    const { attempts, request } = result;
    const key = `${this.number}/${attempts}`;
    exchange.begin(key, prefiller.port);
    const submission: Submission = prefiller.submit({
      promptTokens: request.promptTokens,
      outputTokens: 1,
      blockHashes: this.#blockHashes,
      holdBlocks: true,
      onDone: (reason, { cachedTokens }) => {
        const failed = reason === 'error';
        if (failed) exchange.abandon(key);
        else {
          result.prefill = { server: place, cachedTokens };
          exchange.complete(key, () => submission.release());
        }
        afterOneHop(() => this.#decode(failed ? leg : { ...leg, key }));
      },
    });
  }

  #decode(leg: DecodeLeg): void {
    const { result } = this;
    const { clock, afterOneHop, blockTokens } = this.#parts;
    const { request } = result;
    const { server } = leg;
    const windowTokens = windowOf(server.spec, blockTokens);
    if (isTooLong(request, windowTokens)) {
      afterOneHop(() => this.#refusedAsTooLong(leg, windowTokens));
      return;
    }
    const rank = leg.routed.headers.get(DATA_PARALLEL_RANK);
    const asked: SequenceRequest = {
      promptTokens: request.promptTokens,
      outputTokens: request.outputTokens,
      blockHashes: this.#blockHashes,
      remote: this.#remoteKv(leg),
      ...(server.spec.loras && request.model !== '' && { lora: request.model }),
      onFirstToken: () =>
        afterOneHop(() => {
          result.ttftMs = clock.now() - request.atMs;
          leg.routed.firstToken();
        }),
      onDone: (reason, usage) => afterOneHop(() => this.#decoded(leg, reason, usage)),
    };
    server.submit(asked, rank === undefined ? undefined : Number(rank));
  }

  /** The client gets 400, which no gateway tries again. */
  #refusedAsTooLong({ routed, key }: DecodeLeg, windowTokens: number): void {
    if (key !== undefined) this.#parts.exchange.drop(key);
    routed.windowReported?.(windowTokens);
    routed.done('completed');
    this.#end();
  }

  #remoteKv({ key, server }: DecodeLeg): RemoteKv | undefined {
    if (key === undefined) return undefined;
    return {
      tokens: this.result.request.promptTokens,
      start: (tokens, ready, fail) => {
        const pull = { tokens, to: server.port, ready, fail };
        this.#parts.exchange.fetch(key, pull, { patient: false });
      },
    };
  }

  #decoded({ routed, key }: DecodeLeg, reason: FinishReason, usage: SequenceUsage): void {
    const { result } = this;
    const failed = reason === 'error';
    // Where the decoding server has refused or lost it, nobody fetches its KV any more.
    if (key !== undefined) this.#parts.exchange.drop(key);
    routed.done(failed ? 'failed' : 'completed', failed ? undefined : usage);
    if (failed && Number.isNaN(result.ttftMs)) {
      this.#retry();
      return;
    }
    result.completed = !failed;
    result.cachedTokens = usage.cachedTokens;
    this.#end();
  }

  #retry(): void {
    if (this.result.attempts > RETRIES_MAX) this.#end();
    else this.#parts.clock.setTimer(RETRY_AFTER_MS, () => this.attempt());
  }

  #end(): void {
    const { request } = this.result;
    this.result.e2eMs = this.#parts.clock.now() - request.atMs;
    this.#parts.onEnd(this);
  }
}

/** The engine's hashes: 53 bits of each chained hash. */
function blockHashesOf({ blockIds, model }: TraceRequest, blockTokens: number): Float64Array {
  const { words, count } = chainBlockIds(blockIds, { seedText: model, blockTokens });
  const hashes = new Float64Array(count);
  for (let index = 0; index < count; index++) {
    const high = (words[2 * index + 1] as number) >>> 11;
    hashes[index] = high * 0x1_0000_0000 + ((words[2 * index] as number) >>> 0);
  }
  return hashes;
}
