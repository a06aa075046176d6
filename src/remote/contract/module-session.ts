import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import { CACHE_CONFIG, LORA } from '../../framework/keys.ts';
import type { Routed } from '../../framework/observer.ts';
import type { Declined, ReplacementScheduler } from '../../framework/plugin.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Runtime } from '../../framework/runtime.ts';
import type { Decision } from '../../framework/scheduling.ts';
import { EndpointPool } from '../../picker/endpoint-pool.ts';
import { EngineModel } from '../../picker/engine-model/engine-model.ts';
import { Ledger } from '../../picker/ledger.ts';
import { createContext, type FactTable } from '../../picker/scheduling/context.ts';
import type {
  DecisionMessage,
  EndpointMessage,
  EventMessage,
  PickerMessage,
  RequestMessage,
  Welcome,
} from '../messages.ts';
import { ANSWER_TIMEOUT_MS, type OpenSession, type SchedulerSession } from './session.ts';

/** Opens sessions with a scheduler of a module, made anew for each, so that it can be tried as others are. */
export function moduleSessionOpener(
  make: () => ReplacementScheduler,
  runtime: Pick<Runtime, 'clock' | 'random'>,
): OpenSession {
  return () => Promise.resolve(new ModuleSession(make(), runtime));
}

class ModuleSession implements SchedulerSession {
  readonly welcome: Welcome;
  readonly #scheduler: ReplacementScheduler;
  readonly #runtime: Pick<Runtime, 'clock' | 'random'>;
  readonly #pool = new EndpointPool();
  readonly #facts: FactTable;
  /** The contract's slots, which are not the pool's. */
  readonly #ids = new Map<number, EndpointId>();
  readonly #requests = new Map<string, InferenceRequest>();
  readonly #routed = new Map<string, Routed>();
  readonly #came = new Map<string, DecisionMessage[]>();
  #ended: string | undefined;
  #wake: (() => void) | undefined;

  constructor(scheduler: ReplacementScheduler, runtime: Pick<Runtime, 'clock' | 'random'>) {
    const ledger = new Ledger();
    const engineModel = new EngineModel();
    const facts = [...ledger.facts, engineModel.fact];
    this.#scheduler = scheduler;
    this.#runtime = runtime;
    this.#facts = new Map(facts.map((fact) => [fact.key.name, fact]));
    for (const each of [ledger, engineModel, scheduler]) this.#pool.observeEndpoints(each);
    this.welcome = {
      version: 1,
      name: scheduler.status?.().name ?? 'module',
      wantsEndpoints: true,
      wantsEvents: true,
      blockHashesMax: Number.MAX_SAFE_INTEGER,
      headers: [],
    };
  }

  get ended(): string | undefined {
    return this.#ended;
  }

  send({ removed = [], endpoints = [], events = [], requests = [] }: PickerMessage): void {
    try {
      for (const slot of removed) this.#remove(slot);
      for (const endpoint of endpoints) this.#upsert(endpoint);
      for (const event of events) this.#happened(event);
      for (const request of requests) this.#ask(request);
    } catch (error) {
      this.#fail(error);
    }
  }

  async decisions(ids: readonly string[]): Promise<readonly DecisionMessage[]> {
    let over = false;
    const timer = this.#runtime.clock.setTimer(ANSWER_TIMEOUT_MS, () => {
      over = true;
      this.#wake?.();
    });
    const isDone = (): boolean => ids.every((id) => this.#came.has(id));
    while (!over && this.#ended === undefined && !isDone()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    timer.cancel();
    return ids.flatMap((id) => this.#came.get(id) ?? []);
  }

  close(): void {
    this.#scheduler.stop?.();
  }

  #remove(slot: number): void {
    const id = this.#ids.get(slot);
    this.#ids.delete(slot);
    if (id !== undefined) this.#pool.remove(id);
  }

  #upsert(message: EndpointMessage): void {
    const id = message.id as EndpointId;
    this.#ids.set(message.slot, id);
    const labels = new Map(Object.entries(message.labels));
    this.#pool.upsert({ id, address: message.address, labels });
    if (!message.sampled) return;
    this.#pool.observe(id, {
      waitingQueueSize: message.waitingRequests,
      runningRequests: message.runningRequests,
      kvCacheUsage: message.kvCacheUsage,
      sampledAt: this.#runtime.clock.now() - message.sampleAgeMs,
    });
    const { cacheBlocks: blocks, cacheBlockTokens: blockTokens } = message;
    this.#pool.set(id, CACHE_CONFIG, { blocks, blockTokens });
    const running = new Set(message.loraRunning);
    const waiting = new Set(message.loraWaiting);
    this.#pool.set(id, LORA, { running, waiting, max: message.loraMax });
  }

  /** A module hears only of requests that its picker has routed, and of each end once. */
  #happened(event: EventMessage): void {
    const now = this.#runtime.clock.now();
    const known = this.#routed.get(event.id);
    if ('routed' in event) this.#route(event.id, event.routed.slot, now);
    else if (known !== undefined && 'firstToken' in event) {
      this.#scheduler.onFirstToken?.(known, now);
    } else if (known !== undefined && 'done' in event) {
      this.#routed.delete(event.id);
      this.#scheduler.onDone?.(known, now, 'completed', event.done);
    }
  }

  #route(id: string, slot: number, at: number): void {
    const request = this.#requests.get(id) ?? requestOf({ ...NOTHING, id });
    const endpoint = this.#endpoint(slot);
    if (endpoint === undefined) return;
    const load = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };
    const routed = {
      number: 0,
      request,
      endpoint,
      at,
      cachedTokens: 0,
      load,
      firstTokenSeen: true,
    };
    this.#routed.set(id, routed);
    this.#scheduler.onRouted?.(routed);
  }

  #ask(message: RequestMessage): void {
    const request = requestOf(message);
    this.#requests.set(message.id, request);
    const all = message.candidates.length === 0;
    const endpoints = all
      ? this.#pool.snapshot()
      : message.candidates.flatMap((slot) => this.#endpoint(slot) ?? []);
    const decide = (): void => this.#decide(request, endpoints);
    const ready = (): void => {
      try {
        decide();
      } catch (error) {
        this.#fail(error);
      }
    };
    if (this.#scheduler.prepare?.(request, { endpoints, all }, ready) !== true) decide();
  }

  #decide(request: InferenceRequest, endpoints: readonly Endpoint[]): void {
    const { clock, random } = this.#runtime;
    const cycle = { request, now: clock.now(), random: random.fork(request.id) };
    const context = createContext(cycle, endpoints, this.#facts);
    const result = this.#scheduler.schedule(endpoints, context);
    const decision = this.#decisionOf(request.id, result);
    this.#came.set(request.id, [...(this.#came.get(request.id) ?? []), decision]);
    this.#wake?.();
  }

  #decisionOf(id: string, result: Decision | Declined): DecisionMessage {
    const nobody = { id, targets: [], refuse: false, headers: {} };
    if ('declined' in result) return nobody;
    const { primary, prefill, headers } = result;
    if (primary.kind === 'exhausted') return { ...nobody, refuse: true };
    return {
      id,
      refuse: false,
      targets: primary.targets.map(({ endpoint, score }) => ({
        slot: this.#slot(endpoint),
        score,
      })),
      prefillSlot: prefill && this.#slot(prefill),
      headers: Object.fromEntries(headers),
    };
  }

  #endpoint(slot: number): Endpoint | undefined {
    const id = this.#ids.get(slot);
    return id === undefined ? undefined : this.#pool.get(id);
  }

  /** Of an endpoint that was not offered: none that could be a candidate. */
  #slot({ id }: Endpoint): number {
    return [...this.#ids].find(([, known]) => known === id)?.[0] ?? -1;
  }

  #fail(error: unknown): void {
    this.#ended ??= `it threw: ${error instanceof Error ? error.message : String(error)}`;
    this.#wake?.();
  }
}

const NOTHING: RequestMessage = {
  id: '',
  model: '',
  promptTokens: 0,
  outputTokensMax: 0,
  streaming: false,
  priority: 0,
  fairnessId: '',
  objective: '',
  ttftSloMs: 0,
  tpotSloMs: 0,
  blockTokens: 64,
  blockHashes: new Uint8Array(),
  headers: {},
  candidates: [],
};

function requestOf(message: RequestMessage): InferenceRequest {
  const { blockTokens, blockHashes, candidates: _, headers, ...rest } = message;
  const { outputTokensMax, objective, ttftSloMs, tpotSloMs } = message;
  const count = blockHashes.length / 8;
  // A copy, as words of four bytes must begin at a multiple of four.
  const words = new Uint32Array(blockHashes.slice().buffer);
  return {
    ...rest,
    bodyBytes: 4 * message.promptTokens,
    headers: new Map(Object.entries(headers)),
    outputTokensMax: outputTokensMax || undefined,
    objective: objective || undefined,
    ttftSloMs: ttftSloMs || undefined,
    tpotSloMs: tpotSloMs || undefined,
    prompt: { blockTokens, count, words },
  };
}
