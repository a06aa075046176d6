import type { InferenceRequest } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { Served } from '../discipline.ts';
import { Band } from './band.ts';
import type { Fairness } from './fairness/fairness.ts';
import type { BandParts, FlowControlParts } from './flow-control-parts.ts';

/**
 * A band that neither the configuration nor an objective names is dropped after so long without a
 * request.
 */
const IDLE_MS: Millis = 600_000;
/** Bands are looked at so often. */
const LOOK_MS: Millis = 60_000;
const NONE: ReadonlyMap<string, number> = new Map();

/**
 * All bands, the highest priority first. Those that the configuration does not name come and go.
 */
export class Bands {
  readonly #plan: FlowControlParts;
  /** By name in the configuration. */
  readonly #fairness = new Map<string, Fairness>();
  #all: readonly Band[] = [];
  #priorities: readonly number[] = [];
  readonly #byPriority = new Map<number, Band>();
  #objectives = NONE;
  /** The priorities of all objectives. */
  #ofObjectives: ReadonlySet<number> = new Set();
  #lookAt: Millis = Number.NEGATIVE_INFINITY;

  constructor(plan: FlowControlParts) {
    this.#plan = plan;
    const named = [...plan.bands.keys(), ...(plan.bands.has(0) ? [] : [0])];
    for (const priority of named) this.#create(priority, 0);
    this.#sort();
  }

  get all(): readonly Band[] {
    return this.#all;
  }

  get priorities(): readonly number[] {
    return this.#priorities;
  }

  /** The instances that the bands use, by name in the configuration. */
  get fairness(): ReadonlyMap<string, Fairness> {
    return this.#fairness;
  }

  of(priority: number, at: Millis): Band {
    let band = this.#byPriority.get(priority);
    if (band === undefined) {
      this.#dropIdle(at);
      band = this.#create(priority, at);
      this.#sort();
    }
    band.usedAt = at;
    return band;
  }

  /**
   * Gives each priority of an objective a band, so that policies count it before its first request.
   * Returns all bands.
   */
  keep(objectives: ReadonlyMap<string, number> = NONE, at: Millis): readonly Band[] {
    if (objectives === this.#objectives && at < this.#lookAt) return this.#all;
    this.#lookAt = at + LOOK_MS;
    this.#objectives = objectives;
    this.#ofObjectives = new Set(objectives.values());
    for (const priority of this.#ofObjectives) {
      const band = this.#byPriority.get(priority) ?? this.#create(priority, at);
      band.usedAt = at;
    }
    this.#dropIdle(at);
    this.#sort();
    return this.#all;
  }

  /** Undefined where no request has had this priority of late. */
  known(priority: number): Band | undefined {
    return this.#byPriority.get(priority);
  }

  ended(request: InferenceRequest, served: Served, at: Millis): void {
    const { fairness } = this.#planOf(request.priority);
    this.#fairness.get(fairness)?.ended?.(request, served, at);
  }

  #planOf(priority: number): BandParts {
    const { bands, defaultBand, negativeBand } = this.#plan;
    return bands.get(priority) ?? (priority < 0 ? negativeBand : defaultBand);
  }

  #create(priority: number, at: Millis): Band {
    const plan = this.#planOf(priority);
    const { fairness: name } = plan;
    const fairness = this.#fairness.get(name) ?? this.#plan.fairness.get(name)?.();
    if (fairness === undefined) throw new Error(`the plan has no fairness policy named ${name}`);
    this.#fairness.set(name, fairness);
    const band = new Band(priority, plan, fairness.forBand(plan.before));
    band.usedAt = at;
    this.#byPriority.set(priority, band);
    return band;
  }

  #dropIdle(at: Millis): void {
    for (const [priority, band] of this.#byPriority) {
      const isNamed = priority === 0 || this.#plan.bands.has(priority);
      if (
        isNamed ||
        this.#ofObjectives.has(priority) ||
        band.size > 0 ||
        at - band.usedAt <= IDLE_MS
      )
        continue;
      band.stop();
      this.#byPriority.delete(priority);
    }
  }

  #sort(): void {
    this.#all = [...this.#byPriority.values()].toSorted((a, b) => b.priority - a.priority);
    this.#priorities = this.#all.map(({ priority }) => priority);
  }
}
