import type { Random } from '../../src/framework/runtime.ts';
import type { Engine } from '../engine/engine.ts';
import type { Fault, FaultKind } from './fault.ts';

/** What a server does with a request that has just come. */
export type Reception = 'serve' | 'reset' | 'ignore';

type SometimesKind = 'error' | 'drop' | 'truncate';
type FaultOf<Kind extends SometimesKind> = Fault & { readonly kind: Kind; readonly share: number };

/** What is wrong with one server at the moment, at most one fault of each kind. */
export class FaultBoard {
  readonly #engine: Engine;
  readonly #random: Random;
  readonly #metricsPage: () => string;
  readonly #onCrash: () => void;
  readonly #active = new Map<FaultKind, Fault>();
  /** The page that a stale server goes on showing. */
  #stalePage = '';

  constructor(parts: {
    readonly engine: Engine;
    readonly random: Random;
    readonly metricsPage: () => string;
    /** The engine has lost everything; so has whoever kept something for it. */
    readonly onCrash: () => void;
  }) {
    this.#engine = parts.engine;
    this.#random = parts.random;
    this.#metricsPage = parts.metricsPage;
    this.#onCrash = parts.onCrash;
  }

  get active(): readonly Fault[] {
    return [...this.#active.values()];
  }

  /** Takes the place of one of the same kind. */
  begin(fault: Fault): void {
    this.#active.set(fault.kind, fault);
    if (fault.kind === 'stale-metrics') this.#stalePage = this.#metricsPage();
    if (fault.kind === 'crash') {
      this.#engine.crash();
      this.#onCrash();
    }
    this.#setPace();
  }

  /** One kind, or all of them. */
  end(kind?: FaultKind): void {
    if (kind === undefined) this.#active.clear();
    else this.#active.delete(kind);
    this.#setPace();
  }

  get reception(): Reception {
    if (this.#active.has('refuse') || this.#active.has('crash')) return 'reset';
    return this.#active.has('hang') ? 'ignore' : 'serve';
  }

  /** The status that this generating request is to be answered with, if any. */
  get errorStatus(): number | undefined {
    const fault = this.#drawn('error');
    return fault?.status;
  }

  /** After how many tokens this answer is to be cut off, if at all. */
  get dropsAfterTokens(): number | undefined {
    return this.#drawn('drop')?.afterTokens;
  }

  get truncates(): boolean {
    return this.#drawn('truncate') !== undefined;
  }

  /** What /metrics shows; undefined is a 404. */
  metrics(): string | undefined {
    if (this.#active.has('no-metrics')) return undefined;
    if (this.#active.has('garbage-metrics')) return '\u0000\ufffd{{{ not metrics at all "\n= = =\n';
    return this.#active.has('stale-metrics') ? this.#stalePage : this.#metricsPage();
  }

  #drawn<Kind extends SometimesKind>(kind: Kind): FaultOf<Kind> | undefined {
    const fault = this.#active.get(kind) as FaultOf<Kind> | undefined;
    return fault !== undefined && this.#random.next() < fault.share ? fault : undefined;
  }

  #setPace(): void {
    const slow = this.#active.get('slow');
    const factor = slow?.kind === 'slow' ? slow.factor : 1;
    this.#engine.slowdown = this.#active.has('stuck') ? Number.POSITIVE_INFINITY : factor;
  }
}
