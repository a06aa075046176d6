import { heldShare } from '../../cost-model/held-memory.ts';
import { shownCapacityTokens } from '../../cost-model/shown-capacity.ts';
import { decodeStepMs } from '../../cost-model/step-time.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { CACHE_CONFIG, ENGINE_COUNT, LORA } from '../../framework/endpoint-attributes.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { EngineModel } from '../engine-model/engine-model.ts';
import type { EndpointEntry, ListedReservation } from './endpoint-entry.ts';
import type { Ledger } from './ledger.ts';

/** Two samples may be of almost one time, and an engine may pause. */
const LEAST_MS: Millis = 100;
/** A request that is not begun after so many times its own steps waits for something else. */
const TIMES_OWN = 2;
/** The step that runs when it comes, its own, and one until the samples show it. */
const STEPS = 3;
/** With more KV memory in use, a request may wait for memory. */
const MEMORY_SHARE_MAX = 0.8;

export interface RunningBoundsOptions {
  readonly pool: { snapshot(): readonly Endpoint[] };
  readonly ledger: Pick<Ledger, 'entryOf'>;
  readonly engineModel: Pick<EngineModel, 'stepTime'>;
}

/** A request that samples have shown to wait at one endpoint. */
interface SeenWaiting {
  readonly reservation: ListedReservation;
  /** How many requests ran in all of these samples. */
  readonly running: number;
  /** When the first of these samples was taken. */
  readonly since: Millis;
}

/**
 * Learns how many requests each server runs at a time. Engines do not report it (`max_num_seqs` of
 * vLLM, `--parallel` of llama.cpp), but it shows: sample after sample, for longer than its prompt
 * would take, a request of ours waits, while all that run are answers under way and memory is free.
 * So many as run then are the bound, until more are seen to run. It looks only when a request is
 * placed, because a capture has the samples of these times alone.
 */
export class RunningBounds {
  readonly #options: RunningBoundsOptions;
  /** By slot. */
  readonly #waiting: (SeenWaiting | undefined)[] = [];

  constructor(options: RunningBoundsOptions) {
    this.#options = options;
  }

  /** Returns whether a bound is known now that was not, or the other way round. */
  look(): boolean {
    const { pool, ledger } = this.#options;
    let hasChanged = false;
    for (const endpoint of pool.snapshot()) {
      const entry = ledger.entryOf(endpoint);
      if (entry === undefined) continue;
      const { runningMax } = entry.load;
      this.#lookAt(endpoint, entry);
      if (entry.load.runningMax !== runningMax) hasChanged = true;
    }
    return hasChanged;
  }

  #lookAt(endpoint: Endpoint, entry: EndpointEntry): void {
    const { metrics, slot } = endpoint;
    const { runningRequests: running, sampledAt } = metrics;
    const { load } = entry;
    if (load.runningMax !== undefined && running > load.runningMax) load.runningMax = undefined;
    const reservation = waitingForSlot(entry, endpoint);
    const known = this.#waiting[slot];
    if (reservation === undefined) this.#waiting[slot] = undefined;
    else if (known?.reservation !== reservation || known.running !== running) {
      this.#waiting[slot] = { reservation, running, since: sampledAt };
    } else if (sampledAt - known.since > this.#dueMs(endpoint, entry, reservation)) {
      load.runningMax = running;
    }
  }

  /** An engine with a free slot would have computed the prompt by then. */
  #dueMs(
    endpoint: Endpoint,
    { load }: EndpointEntry,
    { pendingTokens }: ListedReservation,
  ): Millis {
    const engine = this.#options.engineModel.stepTime(endpoint);
    const stepMs = decodeStepMs(load.requests, load.contextTokens, engine);
    const ownMs = engine.perPrefillTokenMs * pendingTokens + STEPS * stepMs;
    return Math.max(LEAST_MS, TIMES_OWN * ownMs);
  }
}

/** The oldest request that is not begun, where it can wait only for the end of another one. */
function waitingForSlot(entry: EndpointEntry, endpoint: Endpoint): ListedReservation | undefined {
  const { runningRequests, waitingQueueSize } = endpoint.metrics;
  if (waitingQueueSize === 0 || runningRequests === 0) return undefined;
  const { requests, begunRequests } = entry.load;
  // What runs may be prompts or requests of others, and ours may be on their way.
  if (begunRequests < runningRequests || requests - begunRequests > waitingQueueSize) {
    return undefined;
  }
  // One of several engines may be full.
  if (endpoint.attribute(ENGINE_COUNT) !== 1 || waitsForAdapter(endpoint)) return undefined;
  return mayLackMemory(entry, endpoint) ? undefined : oldestOwed(entry);
}

function waitsForAdapter(endpoint: Endpoint): boolean {
  return (endpoint.attribute(LORA)?.waiting.size ?? 0) > 0;
}

/** Whether the memory may be too small for all prompts that are not computed yet. */
function mayLackMemory({ load }: EndpointEntry, endpoint: Endpoint): boolean {
  const cache = endpoint.attribute(CACHE_CONFIG);
  const tokens = cache ? cache.blocks * cache.blockTokens : shownCapacityTokens(load, endpoint);
  const pendingShare = tokens === undefined ? 0 : load.pendingPrefillTokens / tokens;
  const share = heldShare(load, endpoint, tokens ?? Number.POSITIVE_INFINITY);
  return share + pendingShare > MEMORY_SHARE_MAX;
}

/** The oldest of those that owe a first token, and that the server counts as soon as they come. */
function oldestOwed(entry: EndpointEntry): ListedReservation | undefined {
  for (let one = entry.oldest; one !== undefined; one = one.newer) {
    const isOwed = Number.isFinite(one.owedAt) && one.isCountedAtOnce;
    if (one.lost === undefined && isOwed) return one;
  }
  return undefined;
}
