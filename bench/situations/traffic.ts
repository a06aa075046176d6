import type { Millis, Random } from '../../src/framework/runtime.ts';
import type { PoolSpec, ServerSpec } from '../../src/lab/simulate/pool-spec.ts';
import type { TraceRequest } from '../../src/lab/traces/trace.ts';
import type { Workload } from '../../src/lab/traces/workload.ts';
import type { LatencyCoefficients } from '../../stub-server/engine/latency-model.ts';
import { burstyArrivals, logNormal, zipf } from '../scenarios/arrivals.ts';
import { conversations, SCENARIO_BLOCK_TOKENS } from '../scenarios/conversations.ts';
import { type DrawnSizes, meanOf } from '../scenarios/drawn-workload.ts';

/** Requests of one kind. Lengths are in tokens. */
export interface Stream {
  /** Its part of all requests; 1 if left out. */
  readonly share?: number;
  /** Beginnings that conversations share, and how unequally they are used; none if left out. */
  readonly heads?: { readonly count: number; readonly skew: number; readonly tokens: number };
  /** Conversations have 1 to so many turns; 1 if left out. */
  readonly turnsMax?: number;
  readonly question: DrawnSizes;
  readonly answer: DrawnSizes;
  readonly thinkMs?: Millis;
  /** How many times the calm rate comes in bursts; 1 if left out. */
  readonly burst?: number;
  /** So many conversations begin at the same moment; 1 if left out. */
  readonly batch?: number;
  /** So many models are asked for by chance, the first most often; one if left out. */
  readonly models?: number;
}

const PHASE_MS = 20_000;
const THINK_MS = 4000;
/** The part of a shared beginning or an earlier turn that is computed anew, to choose the rate. */
const COMPUTED_AGAIN = 0.3;
/** As many answers are written together where memory allows it, to choose the rate. */
const BATCH_MAX = 64;
/** Ids of blocks of two streams are as far apart. */
const STREAM_IDS = 1e9;

/** About so many requests, at a rate that takes the share `load` of the pool's time. */
export function trafficFor(
  streams: readonly Stream[],
  pool: PoolSpec,
  { requests, load, random }: { requests: number; load: number; random: Random },
): Workload {
  const perMs = pool.servers.reduce((sum, server) => sum + 1 / workMs(streams, server), 0);
  const lengthMs = requests / (load * perMs);
  const all = streams.flatMap((stream, index) => {
    const sessions = Math.max(1, Math.round((requests * shareOf(stream)) / meanTurns(stream)));
    const own = random.fork(`stream ${index}`);
    return requestsOf(stream, { sessions, lengthMs }, own).map((each) => ({
      ...each,
      blockIds: each.blockIds.map((id) => Number(id) + Math.sign(Number(id)) * STREAM_IDS * index),
    }));
  });
  all.sort((a, b) => a.atMs - b.atMs);
  return { blockTokens: SCENARIO_BLOCK_TOKENS, requests: all };
}

function requestsOf(
  stream: Stream,
  { sessions, lengthMs }: { readonly sessions: number; readonly lengthMs: Millis },
  random: Random,
): readonly TraceRequest[] {
  const { heads, question, answer, turnsMax = 1, batch = 1, burst = 1, models = 1 } = stream;
  const count = Math.ceil(sessions / batch);
  const arrivals = { count, meanMs: lengthMs / count, burst, phaseMs: PHASE_MS };
  const starts = burstyArrivals(random, arrivals);
  const shape = {
    sessions,
    starts: (index: number) => starts[Math.floor(index / batch)] ?? 0,
    heads: {
      pick: (own: Random) => (heads === undefined ? 0 : zipf(own, heads.count, heads.skew)),
      tokens: () => heads?.tokens ?? 0,
    },
    turns: (own: Random) => 1 + Math.floor(own.next() * turnsMax),
    questionTokens: (own: Random) => logNormal(own, question.median, question.spread),
    answerTokens: (own: Random) => logNormal(own, answer.median, answer.spread),
    thinkMs: stream.thinkMs ?? THINK_MS,
    ...(models > 1 && {
      model: (_: number, own: Random) => `adapter-${zipf(own, models, 1)}`,
    }),
  };
  return conversations(shape, random).requests;
}

/**
 * Approximate time that a request takes of a server: to compute its prompt, and its part of the
 * steps that write answers, as many at a time as there is memory for.
 */
function workMs(streams: readonly Stream[], server: Omit<ServerSpec, 'id'>): Millis {
  const { slowdown = 1, kvTokens, sequencesMax } = server;
  const latency = coefficientsOf(server.latency);
  const sum = (of: (stream: Stream) => number): number =>
    streams.reduce((total, stream) => total + shareOf(stream) * of(stream), 0);
  const contextTokens = sum((stream) => promptTokens(stream) + meanOf(stream.answer) / 2);
  const batch = Math.max(1, Math.min(BATCH_MAX, sequencesMax, kvTokens / contextTokens));
  const stepMs = latency.baseMs + batch * (latency.sequenceMs + latency.contextMs * contextTokens);
  const promptsMs = sum((stream) => {
    const tokens = promptTokens(stream);
    const computed = computedTokens(stream);
    return latency.tokenMs * computed + latency.squareMs * computed * (2 * tokens - computed);
  });
  return slowdown * (promptsMs + (sum((stream) => meanOf(stream.answer)) * stepMs) / batch);
}

function coefficientsOf(
  latency: LatencyCoefficients,
): Readonly<Record<'baseMs' | 'tokenMs' | 'squareMs' | 'sequenceMs' | 'contextMs', number>> {
  if (latency.kind === 'linear') {
    const { baseMs, perPrefillTokenMs: tokenMs, perDecodeSequenceMs: sequenceMs } = latency;
    return { baseMs, tokenMs, squareMs: 0, sequenceMs, contextMs: latency.perContextTokenMs };
  }
  return {
    baseMs: latency.stepMs + latency.weightsMs,
    tokenMs: latency.perTokenMs,
    squareMs: latency.perAttendedSquareMs,
    sequenceMs: latency.perSequenceMs,
    contextMs: latency.perContextTokenMs,
  };
}

function shareOf({ share = 1 }: Stream): number {
  return share;
}

function meanTurns({ turnsMax = 1 }: Stream): number {
  return (1 + turnsMax) / 2;
}

/** What comes before the question in the mean: the beginning, and half of the turns. */
function earlierTokens(stream: Stream): number {
  const { heads, question, answer } = stream;
  const turn = meanOf(question) + meanOf(answer);
  return (heads?.tokens ?? 0) + ((meanTurns(stream) - 1) / 2) * turn;
}

function promptTokens(stream: Stream): number {
  return earlierTokens(stream) + meanOf(stream.question);
}

function computedTokens(stream: Stream): number {
  return meanOf(stream.question) + COMPUTED_AGAIN * earlierTokens(stream);
}
