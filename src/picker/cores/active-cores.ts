import type { RequestObserver } from '../../framework/observer.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { JournalSubscriber } from '../events/journal.ts';
import { RequestObservers } from '../events/request-observers.ts';
import type { PluginFaults } from '../faults/plugin-faults.ts';
import type { PluginPart } from '../plan/instantiate.ts';
import type { EndpointPool } from '../pool/endpoint-pool.ts';
import type { Challenger, Generation } from './generation.ts';
import type { SchedulingCore } from './scheduling-core.ts';

interface ActiveGeneration extends Generation {
  /** Requests that wait for something to be prepared. */
  preparing: number;
}

/** What decides now, kept as cores that prepare while others take over. */
export interface KeptCores {
  /** The core in charge decides this request, or its challenger. */
  decides(request: InferenceRequest, by: 'core in charge' | 'challenger'): void;
  release(): void;
}

export interface ActiveCoresOptions {
  readonly pool: EndpointPool;
  readonly subscribers: readonly JournalSubscriber[];
  /** The picker's own observers of all requests here; each is called after the plugins. */
  readonly ownObservers: readonly RequestObserver[];
  /** Observers of the requests of other replicas; each is called after `ownObservers`. */
  readonly elsewhereObservers: readonly RequestObserver[];
  readonly faults: PluginFaults;
}

/**
 * The core in charge, its challenger, and earlier cores that requests still wait for: the core that
 * began to prepare for a request also decides it. A plugin is stopped when no active core has it
 * any more.
 */
export class ActiveCores {
  readonly #options: ActiveCoresOptions;
  readonly #preparedBy = new WeakMap<InferenceRequest, ActiveGeneration>();
  #active: readonly ActiveGeneration[] = [];
  #inCharge: ActiveGeneration;
  #challenging: ActiveGeneration | undefined;
  #adoptions = 0;
  #changes = 0;

  constructor(first: SchedulingCore, options: ActiveCoresOptions) {
    this.#options = options;
    this.#inCharge = this.#activate(first);
  }

  /** The core in charge. */
  get core(): SchedulingCore {
    return this.#inCharge.core;
  }

  /** The core of the challenger, and its name. */
  get challenger(): { readonly name: string; readonly core: SchedulingCore } | undefined {
    const { core, challenger } = this.#challenging ?? {};
    return core && challenger && { name: challenger.name, core };
  }

  /** Whether any core that decides ever has to prepare something. */
  get prepares(): boolean {
    return (
      this.#inCharge.core.prepare !== undefined || this.#challenging?.core.prepare !== undefined
    );
  }

  /** Says to the challenger that it has failed on a request. */
  giveBack(challenger: Challenger, request: InferenceRequest, error: unknown): void {
    try {
      challenger.onThrown(request, error);
    } catch (fault) {
      this.#options.faults.report(challenger, 'onThrown', fault);
    }
  }

  /** The core in charge, with its observers. It decides what a challenger has failed to decide. */
  get inCharge(): Generation {
    return this.#inCharge;
  }

  /** The generation that decides this request. */
  generationFor(request: InferenceRequest): Generation {
    const preparedBy = this.#preparedBy.get(request);
    if (preparedBy === undefined || !this.#active.includes(preparedBy))
      return this.#current(request);
    // The challenger may have given the request back in the meantime.
    return preparedBy === this.#challenging ? this.#current(request) : preparedBy;
  }

  /** How many plans were adopted after that of this generation: 0 while it is in charge. */
  adoptionsSince({ adoptions }: Generation): number {
    return this.#adoptions - adoptions;
  }

  /** How often what decides has changed after this generation: 0 while it decides. */
  changesSince({ changes }: Generation): number {
    return this.#changes - changes;
  }

  /** Prepares with the core that decides now. `begin` returns whether to wait. */
  prepare(
    request: InferenceRequest,
    begin: (core: SchedulingCore, ready: () => void) => boolean,
    ready: () => void,
  ): boolean {
    const generation = this.#current(request);
    const waits = begin(generation.core, () => {
      try {
        // `ready` decides the request, with all that was prepared for it.
        ready();
      } finally {
        generation.preparing -= 1;
        this.#retire();
      }
    });
    if (!waits) return false;
    generation.preparing += 1;
    this.#preparedBy.set(request, generation);
    return true;
  }

  /** Keeps what decides now: a replay knows later which requests it has prepared. */
  keep(): KeptCores {
    const [inCharge, challenging = inCharge] = [this.#inCharge, this.#challenging];
    const kept = [inCharge, challenging];
    for (const each of kept) each.preparing += 1;
    return {
      decides: (request, by) =>
        void this.#preparedBy.set(request, by === 'challenger' ? challenging : inCharge),
      release: () => {
        for (const each of kept) each.preparing -= 1;
        this.#retire();
      },
    };
  }

  /**
   * Puts another core in charge. The challenger of the previous one is withdrawn. As `challenge` and
   * `withdraw`, it returns how many requests are still prepared, and decided, by what decided before.
   */
  putInCharge(next: SchedulingCore): number {
    const undecided = this.#beginChange();
    this.#adoptions += 1;
    const known = new Set(this.core.observers);
    this.#inCharge = this.#activate(next);
    this.#observeEndpoints(next, known);
    this.#retire();
    return undecided;
  }

  /** Lets a core decide what the challenger takes. Both cores observe all requests. */
  challenge(core: SchedulingCore, challenger: Challenger): number {
    const undecided = this.#beginChange();
    const known = new Set(this.core.observers);
    this.#challenging = this.#activate(core, { beside: this.core, challenger });
    this.#inCharge = this.#activate(this.core, { beside: core });
    this.#observeEndpoints(core, known);
    this.#retire();
    return undecided;
  }

  /** To be called only while there is a challenger. */
  withdraw(): number {
    const undecided = this.#beginChange();
    this.#inCharge = this.#activate(this.core);
    this.#retire();
    return undecided;
  }

  stop(): void {
    for (const part of partsOf(this.#active)) this.#stop(part);
  }

  /** Ends the challenge. Returns how many requests what decided until now still prepares. */
  #beginChange(): number {
    const undecided = this.#inCharge.preparing + (this.#challenging?.preparing ?? 0);
    this.#challenging = undefined;
    this.#changes += 1;
    return undecided;
  }

  #current(request: InferenceRequest): ActiveGeneration {
    const challenging = this.#challenging;
    return challenging?.challenger?.takes(request) === true ? challenging : this.#inCharge;
  }

  #observeEndpoints({ observers }: SchedulingCore, known: ReadonlySet<PluginPart>): void {
    for (const part of observers) {
      if (!known.has(part)) this.#options.pool.observeEndpoints(part);
    }
  }

  #activate(
    core: SchedulingCore,
    { beside, challenger }: { beside?: SchedulingCore; challenger?: Challenger } = {},
  ): ActiveGeneration {
    const { subscribers, ownObservers, elsewhereObservers, faults } = this.#options;
    const parts = new Set([...core.observers, ...(beside?.observers ?? [])]);
    const plugins = [...parts, ...ownObservers];
    const generation = {
      core,
      challenger,
      adoptions: this.#adoptions,
      changes: this.#changes,
      requestObservers: new RequestObservers(subscribers, plugins, faults),
      elsewhereObservers: new RequestObservers([], [...plugins, ...elsewhereObservers], faults),
      responseHeaderPlugins: core.observers.filter((part) => part.responseHeaders !== undefined),
      reporters: core.observers.filter((part) => part.responseMetadata !== undefined),
      preparing: 0,
    };
    this.#active = [...this.#active, generation];
    return generation;
  }

  #isNeeded(generation: ActiveGeneration): boolean {
    return (
      generation === this.#inCharge || generation === this.#challenging || generation.preparing > 0
    );
  }

  #retire(): void {
    const retired = this.#active.filter((each) => !this.#isNeeded(each));
    if (retired.length === 0) return;
    this.#active = this.#active.filter((each) => !retired.includes(each));
    const needed = partsOf(this.#active);
    for (const part of partsOf(retired)) {
      if (needed.has(part)) continue;
      this.#options.pool.forgetObserver(part);
      this.#stop(part);
    }
  }

  #stop(part: PluginPart): void {
    try {
      part.stop?.();
    } catch (error) {
      this.#options.faults.report(part, 'stop', error);
    }
  }
}

function partsOf(generations: readonly Generation[]): ReadonlySet<PluginPart> {
  return new Set(generations.flatMap(({ core }) => core.observers));
}
