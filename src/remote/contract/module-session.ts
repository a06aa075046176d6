import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import { CACHE_CONFIG, LORA } from '../../framework/endpoint-attributes.ts';
import { messageOf } from '../../framework/error.ts';
import type { Observer, Routed } from '../../framework/observer.ts';
import type { DataSource } from '../../framework/plugin.ts';
import type { Declined, ReplacementScheduler } from '../../framework/replacement.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Runtime } from '../../framework/runtime.ts';
import type { Decision } from '../../framework/scheduling.ts';
import { EngineModel } from '../../picker/engine-model/engine-model.ts';
import { Ledger } from '../../picker/load/ledger.ts';
import type { PlannedPlugin, PlannedScheduler } from '../../picker/plan/picker-plan.ts';
import { EndpointPool } from '../../picker/pool/endpoint-pool.ts';
import { createContext, type FactTable } from '../../picker/scheduling/context.ts';
import { nameOf } from '../../picker/scheduling/replacement-scheduler.ts';
import type {
  DecisionMessage,
  EndpointMessage,
  EventMessage,
  PickerMessage,
  RequestMessage,
  Welcome,
} from '../messages.ts';
import { sampleRequest } from './sample-messages.ts';
import { type OpenSession, ReceivedDecisions, type SchedulerSession } from './scheduler-session.ts';

/** A module's scheduler, and the sources of the facts that it reads. */
interface PlannedModule {
  readonly scheduler: PlannedScheduler;
  readonly producers: readonly (PlannedPlugin & { readonly kind: 'source' })[];
}

/** Opens sessions with a module's scheduler; each session makes all anew. */
export function moduleSessionOpener(planned: PlannedModule, runtime: Runtime): OpenSession {
  return () => {
    const pool = new EndpointPool();
    const { definition, config } = planned.scheduler;
    const sources = planned.producers.map((producer) =>
      producer.definition.start(producer.config, { name: producer.name, pool, runtime }),
    );
    const scheduler = definition.create(config, { runtime, now: () => runtime.clock.now() });
    if (scheduler === undefined) throw new Error(`${definition.type} did not create a scheduler`);
    return Promise.resolve(
      new ModuleSession({ type: definition.type, scheduler, sources, pool, runtime }),
    );
  };
}

interface ModuleParts {
  readonly type: string;
  readonly scheduler: ReplacementScheduler;
  readonly sources: readonly DataSource[];
  readonly pool: EndpointPool;
  readonly runtime: Runtime;
}

class ModuleSession implements SchedulerSession {
  readonly welcome: Welcome;
  readonly #scheduler: ReplacementScheduler;
  readonly #sources: readonly DataSource[];
  readonly #runtime: Runtime;
  readonly #pool: EndpointPool;
  readonly #facts: FactTable;
  /** By slot of the contract's messages; the pool gives its own slots. */
  readonly #ids = new Map<number, EndpointId>();
  readonly #requests = new Map<string, InferenceRequest>();
  readonly #routed = new Map<string, Routed>();
  readonly #received: ReceivedDecisions;

  constructor({ type, scheduler, sources, pool, runtime }: ModuleParts) {
    const ledger = new Ledger();
    const engineModel = new EngineModel();
    const provided = sources.flatMap(({ facts = [] }) => facts);
    const facts = [...ledger.facts, engineModel.fact, ...provided];
    this.#scheduler = scheduler;
    this.#sources = sources;
    this.#pool = pool;
    this.#runtime = runtime;
    this.#received = new ReceivedDecisions(runtime.clock);
    this.#facts = new Map(facts.map((fact) => [fact.key.name, fact]));
    for (const each of [ledger, engineModel, ...sources, scheduler])
      this.#pool.observeEndpoints(each);
    this.welcome = {
      version: 1,
      name: nameOf(scheduler, type),
      wantsEndpoints: true,
      wantsEvents: true,
      blockHashesMax: Number.MAX_SAFE_INTEGER,
      headers: [],
    };
  }

  get ended(): string | undefined {
    return this.#received.ended;
  }

  send({ removed = [], endpoints = [], events = [], requests = [] }: PickerMessage): void {
    try {
      for (const slot of removed) this.#remove(slot);
      for (const endpoint of endpoints) this.#upsert(endpoint);
      for (const event of events) this.#onEvent(event);
      for (const request of requests) this.#ask(request);
    } catch (error) {
      this.#fail(error);
    }
  }

  decisions(ids: readonly string[]): Promise<readonly DecisionMessage[]> {
    return this.#received.of(ids);
  }

  close(): void {
    this.#scheduler.stop?.();
    for (const source of this.#sources) source.stop();
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

  /** A module gets events only of requests that are routed and have not ended. */
  #onEvent(event: EventMessage): void {
    const now = this.#runtime.clock.now();
    const known = this.#routed.get(event.id);
    if ('routed' in event) this.#route(event.id, event.routed.slot, now);
    else if (known !== undefined && 'firstToken' in event) {
      for (const each of this.#observers()) each.onFirstToken?.(known, now);
    } else if (known !== undefined && 'done' in event) {
      this.#routed.delete(event.id);
      for (const each of this.#observers()) each.onDone?.(known, now, 'completed', event.done);
    }
  }

  /** Sources learn before the scheduler that reads their facts. */
  #observers(): readonly Observer[] {
    return [...this.#sources, this.#scheduler];
  }

  #route(id: string, slot: number, at: number): void {
    const request = this.#requests.get(id) ?? toRequest(sampleRequest(id));
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
      firstTokenVisible: true,
    };
    this.#routed.set(id, routed);
    for (const each of this.#observers()) each.onRouted?.(routed);
  }

  #ask(message: RequestMessage): void {
    const request = toRequest(message);
    this.#requests.set(message.id, request);
    const all = message.candidates.length === 0;
    const endpoints = all
      ? this.#pool.snapshot()
      : message.candidates.flatMap((slot) => this.#endpoint(slot) ?? []);
    const decide = (): void => this.#decide(request, endpoints);
    if (this.#scheduler.prepare?.(request, { endpoints, all }, decide) !== true) decide();
  }

  #decide(request: InferenceRequest, endpoints: readonly Endpoint[]): void {
    const { clock, random } = this.#runtime;
    try {
      const cycle = { request, now: clock.now(), random: random.fork(request.id) };
      const context = createContext(cycle, endpoints, this.#facts);
      const decision = this.#scheduler.schedule(endpoints, context);
      this.#received.add(this.#toMessage(request.id, decision));
    } catch (error) {
      this.#fail(error);
    }
  }

  #toMessage(id: string, decision: Decision | Declined): DecisionMessage {
    const none = { id, targets: [], refuse: false, headers: {} };
    if ('declined' in decision) return none;
    const { primary, prefill, headers } = decision;
    if (primary.kind === 'exhausted') return { ...none, refuse: true };
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

  /** -1 for an endpoint that was not offered; no candidate has that slot. */
  #slot({ id }: Endpoint): number {
    return [...this.#ids].find(([, known]) => known === id)?.[0] ?? -1;
  }

  #fail(error: unknown): void {
    this.#received.end(`it threw: ${messageOf(error)}`);
  }
}

function toRequest(message: RequestMessage): InferenceRequest {
  const { blockTokens, blockHashes, candidates: _, headers, ...rest } = message;
  const { outputTokensMax, objective, ttftSloMs, tpotSloMs } = message;
  const count = blockHashes.length / 8;
  // Copied, as words of four bytes must be aligned.
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
