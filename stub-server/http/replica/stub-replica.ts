import type { Clock, Random } from '../../../src/framework/runtime.ts';
import type { EngineBalancer } from '../../engine/engine-balancer.ts';
import type { ModelEngine } from '../../engine/model-engine.ts';
import type { SequenceRequest, Submission } from '../../engine/sequence.ts';
import type { ActiveFaults } from '../../faults/active-faults.ts';
import type { EngineStats } from '../../metrics/engine-stats.ts';
import type { MetricsSource } from '../../metrics/series-family.ts';
import type { StubOptions } from '../../options/stub-options.ts';
import type { KvExchange } from '../../pd/kv-exchange.ts';
import type { KvPort } from '../../pd/kv-fabric.ts';
import type { SharedStore } from '../../pd/shared-store.ts';
import type { AnswerTexts } from './answer-texts.ts';
import { ApiError } from './api-error.ts';
import type { LiveSettings } from './live-settings.ts';

/** One model server: an engine and the state of its API server. */
export interface StubReplica {
  /** The server's name, which all its ranks share. */
  readonly name: string;
  /** Index of the server in the pool, from 0. */
  readonly server: number;
  readonly rank: number;
  /** All ranks of the server, in order. */
  readonly ranks: readonly StubReplica[];
  /** Chooses the rank of each request where all are behind one address; set when all are there. */
  balancer: EngineBalancer | undefined;
  /** `host:port`; empty until it listens. */
  address: string;
  readonly engine: ModelEngine;
  readonly stats: EngineStats;
  /** What /metrics shows of this rank. */
  readonly metrics: MetricsSource;
  /** It renders the page of /metrics, too, because faults may change it. */
  readonly faults: ActiveFaults;
  readonly options: StubOptions;
  readonly clock: Clock;
  readonly random: Random;
  /** What `/admin/config` can change; the same for all ranks. */
  readonly live: LiveSettings;
  /** The texts of answers; undefined where they are made up. */
  readonly texts: AnswerTexts | undefined;
  /** Maximum tokens of prompt and answer. */
  readonly contextTokensMax: number;
  /** Loaded adapters: name → path. */
  readonly loras: Map<string, string>;
  /** The end of start-up, in model time. */
  readonly readyAt: number;
  readonly exchange: KvExchange;
  readonly port: KvPort;
  readonly store: SharedStore | undefined;
}

/**
 * The name under which a request for `model` is answered: an adapter's own, and the first of the
 * server's for each of these and for an empty one. Throws ApiError where the model is not served.
 */
export function servedName({ options, loras }: StubReplica, model: string): string {
  if (loras.has(model)) return model;
  if (model === '' || model === options.model || options.aliases.includes(model)) {
    return options.model;
  }
  throw new ApiError(404, `The model \`${model}\` does not exist.`, 'model');
}

/** The ranks behind the address of this one, which live and end together. */
export function ranksAtAddress(replica: StubReplica): readonly StubReplica[] {
  return replica.balancer === undefined ? [replica] : replica.ranks;
}

export function stateOf(replica: StubReplica): object {
  const { name, rank, address, engine, stats, faults, exchange, port, loras } = replica;
  const { pool } = engine.kv;
  return {
    name,
    rank,
    address,
    ready: replica.clock.now() >= replica.readyAt,
    asleep: engine.asleep,
    running: engine.runningCount,
    waiting: engine.waitingCount,
    kv: { blocks: pool.total, held: pool.held, cached: pool.cached, usage: pool.usage },
    loras: { known: [...loras.keys()], running: [...engine.loras.running] },
    heldPrefills: exchange.heldBy(port),
    transfers: { sending: port.sending, receiving: port.receiving },
    requests: stats.requests,
    finished: stats.finished,
    preemptions: stats.preemptions,
    promptTokens: stats.promptTokens,
    generatedTokens: stats.generatedTokens,
    latenessMs: engine.latenessMs,
    faults: faults.active,
  };
}

/** vLLM's header for the data-parallel rank. */
const RANK_HEADER = 'x-data-parallel-rank';

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The rank that is to compute a request: the one that its header names, or the balancer's. */
export function rankFor(headers: Headers, replica: StubReplica): StubReplica {
  const { balancer, ranks } = replica;
  if (balancer === undefined || namedRank(headers) !== undefined) return replica;
  return ranks[balancer.choose()] ?? replica;
}

/** Submits to the rank's engine, where the balancer counts the request, if there is one. */
export function submitTo(
  { balancer, rank, engine }: StubReplica,
  request: SequenceRequest,
): Submission {
  return balancer === undefined ? engine.submit(request) : balancer.submit(engine, rank, request);
}

/** The rank that the header names. Each port of a server accepts requests for any of its ranks. */
export function rankOf(headers: Headers, replica: StubReplica): StubReplica {
  const named = namedRank(headers);
  if (named === undefined) return replica;
  const rank = replica.ranks[named];
  if (rank !== undefined) return rank;
  const message = `${RANK_HEADER}: ${named} is no rank of this server, which has 0 to ${replica.ranks.length - 1}`;
  throw new ApiError(400, message);
}

/** As in vLLM, a header that is no whole number names none. */
function namedRank(headers: Headers): number | undefined {
  const text = headers[RANK_HEADER];
  return typeof text === 'string' && /^\s*[-+]?\d+\s*$/.test(text) ? Number(text) : undefined;
}
