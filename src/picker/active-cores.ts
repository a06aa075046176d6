import type { RequestObserver } from '../framework/observer.ts';
import type { Observer } from '../framework/plugin.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { EndpointPool } from './endpoint-pool.ts';
import type { PluginPart } from './plan/instantiate.ts';
import type { SchedulingCore } from './scheduling-core.ts';

/** A core, and who hears of the requests that it routes. */
export interface Reign {
  readonly core: SchedulingCore;
  readonly hearers: readonly RequestObserver[];
  readonly markers: readonly Observer[];
}

interface Challenge {
  readonly reign: Counted;
  readonly takes: (request: InferenceRequest) => boolean;
}

interface Counted extends Reign {
  /** Requests that it gets something ready for. */
  waiting: number;
}

/**
 * The core that decides, and those before it that requests still wait on: a request is decided by the core that has begun to get
 * ready for it. A part is stopped when no such core has it any more.
 */
export class CoreSuccession {
  readonly #pool: EndpointPool;
  readonly #before: readonly Observer[];
  readonly #after: readonly RequestObserver[];
  readonly #begun = new WeakMap<InferenceRequest, Counted>();
  #live: readonly Counted[] = [];
  #reign: Counted;
  #challenge: Challenge | undefined;

  /** `before` and `after` hear of every request, whichever core routes it. */
  constructor(
    first: SchedulingCore,
    pool: EndpointPool,
    hearers: { readonly before: readonly Observer[]; readonly after: readonly RequestObserver[] },
  ) {
    this.#pool = pool;
    this.#before = hearers.before;
    this.#after = hearers.after;
    this.#reign = this.#enthrone(first);
  }

  get core(): SchedulingCore {
    return this.#reign.core;
  }

  /** What decides this request. */
  reignOver(request: InferenceRequest): Reign {
    const begun = this.#begun.get(request);
    if (begun === undefined || !this.#live.includes(begun)) return this.#chosen(request);
    // It may have given the request back since.
    return begun === this.#challenge?.reign ? this.#chosen(request) : begun;
  }

  /** As `Router.prepare`, of the core that decides now. */
  prepare(
    request: InferenceRequest,
    begin: (core: SchedulingCore, ready: () => void) => boolean,
    ready: () => void,
  ): boolean {
    const reign = this.#chosen(request);
    const waits = begin(reign.core, () => {
      try {
        // The request is decided in this call, with all that was got ready for it.
        ready();
      } finally {
        reign.waiting -= 1;
        this.#dismiss();
      }
    });
    if (!waits) return false;
    reign.waiting += 1;
    this.#begun.set(request, reign);
    return true;
  }

  /** A challenger goes with the core that it was beside. */
  follow(next: SchedulingCore): void {
    this.withdraw();
    const known = new Set(this.core.observers);
    this.#reign = this.#enthrone(next);
    this.#letHear(next, known);
    this.#dismiss();
  }

  /** Beside the core in charge another decides what it takes. Each hears of the requests of both. */
  challenge(core: SchedulingCore, takes: Challenge['takes']): void {
    this.withdraw();
    const known = new Set(this.core.observers);
    this.#challenge = { reign: this.#enthrone(core, this.core), takes };
    this.#reign = this.#enthrone(this.core, core);
    this.#letHear(core, known);
    this.#dismiss();
  }

  withdraw(): void {
    if (this.#challenge === undefined) return;
    this.#challenge = undefined;
    this.#reign = this.#enthrone(this.core);
    this.#dismiss();
  }

  stop(): void {
    for (const part of partsOf(this.#live)) part.stop?.();
  }

  #chosen(request: InferenceRequest): Counted {
    return this.#challenge?.takes(request) === true ? this.#challenge.reign : this.#reign;
  }

  #letHear({ observers }: SchedulingCore, known: ReadonlySet<PluginPart>): void {
    for (const part of observers) if (!known.has(part)) this.#pool.observeEndpoints(part);
  }

  #enthrone(core: SchedulingCore, beside?: SchedulingCore): Counted {
    const parts = new Set([...core.observers, ...(beside?.observers ?? [])]);
    const hearers = [...parts, ...this.#before, ...this.#after];
    const markers = [...core.observers, ...this.#before].filter(
      (observer) => observer.responseHeaders !== undefined,
    );
    const reign = { core, hearers, markers, waiting: 0 };
    this.#live = [...this.#live, reign];
    return reign;
  }

  #isNeeded(reign: Counted): boolean {
    return reign === this.#reign || reign === this.#challenge?.reign || reign.waiting > 0;
  }

  #dismiss(): void {
    const gone = this.#live.filter((each) => !this.#isNeeded(each));
    if (gone.length === 0) return;
    this.#live = this.#live.filter((each) => !gone.includes(each));
    const needed = partsOf(this.#live);
    for (const part of partsOf(gone)) {
      if (needed.has(part)) continue;
      this.#pool.forgetObserver(part);
      part.stop?.();
    }
  }
}

function partsOf(reigns: readonly Reign[]): ReadonlySet<PluginPart> {
  return new Set(reigns.flatMap(({ core }) => core.observers));
}
