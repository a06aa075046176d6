import { z } from 'zod';
import { PRIOR_STEP_TIME } from '../../cost-model/step-time.ts';
import { type AssignmentView, assignmentKey } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Outcome, Routed, Usage } from '../../framework/observer.ts';
import {
  type DataSourceDefinition,
  type DataSourceHost,
  defineDataSource,
  type Producer,
} from '../../framework/plugin.ts';
import type { Millis } from '../../framework/runtime.ts';
import { duration } from '../parameters/duration.ts';
import { apportion } from './apportion.ts';
import { classOf, type RequestClass, requestClass } from './request-class.ts';

export interface AssignmentConfig {
  readonly mode: 'learned' | 'shares' | 'labels';
  readonly classes: readonly RequestClass[];
  readonly minEndpoints: number;
  readonly reassignInterval: Millis;
  readonly hysteresis: number;
}

const config = z.lazy(() =>
  z
    .strictObject({
      /** Divides by recent work, by given shares, or by endpoint labels. */
      mode: z.enum(['learned', 'shares', 'labels']).default('learned'),
      classes: z.array(requestClass).min(2),
      minEndpoints: z.int().nonnegative().default(1),
      reassignInterval: duration.default(10_000),
      /**
       * Endpoints move only where a class is off its share by more than half an endpoint and this.
       */
      hysteresis: z.number().nonnegative().default(0.25),
    })
    .refine(({ classes }) => new Set(classes.map(({ name }) => name)).size === classes.length, {
      path: ['classes'],
      message: 'two classes have the same name',
    })
    .refine(
      ({ mode, classes }) =>
        mode !== 'labels' || classes.every(({ endpointLabels }) => endpointLabels !== undefined),
      { path: ['classes'], message: 'mode labels needs endpointLabels in every class' },
    ),
);

/** Work counts 1/e after this time: longer than bursts, shorter than changes over a day. */
const WORK_MEMORY_MS = 60_000;
const OUTPUT_TOKENS_UNKNOWN = 200;

/**
 * Divides a pool among classes of requests, such as prompts by length or traffic by objective, for
 * filters and scorers. With mode `learned` each class gets endpoints in proportion to its recent
 * work, with hysteresis, because an endpoint that changes its class has the wrong cache.
 */
export const assignmentInformer: DataSourceDefinition = defineDataSource<AssignmentConfig>({
  type: 'assignment-informer',
  config,
  provides: (_config, name) => [assignmentKey(name)],
  start: (parsed, host) => new AssignmentInformer(parsed, host),
});

export class AssignmentInformer implements Producer, AssignmentView {
  readonly facts: Producer['facts'];
  readonly #config: AssignmentConfig;
  readonly #host: DataSourceHost;
  readonly #byId = new Map<Endpoint['id'], string>();
  readonly #work = new Map<string, number>();
  #workAt: Millis = 0;
  /** The time of the next review of the division; undefined before the first request. */
  #reviewAt: Millis | undefined;

  constructor(parsed: AssignmentConfig, host: DataSourceHost) {
    this.#config = parsed;
    this.#host = host;
    this.facts = [{ key: assignmentKey(host.name), compute: (): AssignmentView => this }];
  }

  classOf(request: Routed['request']): string | undefined {
    return classOf(this.#config.classes, request);
  }

  assigned({ id }: Endpoint): string | undefined {
    return this.#byId.get(id);
  }

  onEndpointAdded(): void {
    this.#reassign({ hysteresis: 0 });
  }

  onEndpointRemoved({ id }: Endpoint): void {
    this.#byId.delete(id);
    this.#reassign({ hysteresis: 0 });
  }

  onEndpointChanged(endpoint: Endpoint, previous: Endpoint): void {
    if (endpoint.labels !== previous.labels && this.#config.mode === 'labels') this.#byLabels();
  }

  onRouted({ request, cachedTokens, at }: Routed): void {
    this.#review(at);
    this.#add(
      request,
      PRIOR_STEP_TIME.perPrefillTokenMs * Math.max(0, request.promptTokens - cachedTokens),
      at,
    );
  }

  onDone({ request }: Routed, at: Millis, _outcome: Outcome, usage: Usage | undefined): void {
    this.#review(at);
    const { perSequenceMs, perContextTokenMs } = PRIOR_STEP_TIME;
    const tokens = usage?.completionTokens ?? OUTPUT_TOKENS_UNKNOWN;
    this.#add(request, tokens * (perSequenceMs + perContextTokenMs * request.promptTokens), at);
  }

  stop(): void {
    // There is no timer and no connection to close.
  }

  #add(request: Routed['request'], workMs: Millis, at: Millis): void {
    const name = this.classOf(request);
    if (name === undefined) return;
    this.#fade(at);
    this.#work.set(name, (this.#work.get(name) ?? 0) + workMs);
  }

  #fade(now: Millis): void {
    const factor = Math.exp((this.#workAt - now) / WORK_MEMORY_MS);
    this.#workAt = now;
    for (const [name, work] of this.#work) this.#work.set(name, work * factor);
  }

  /** With the events of requests, not by a timer, so that a replayed capture divides alike. */
  #review(at: Millis): void {
    this.#reviewAt ??= at + this.#config.reassignInterval;
    if (at < this.#reviewAt) return;
    this.#reviewAt = at + this.#config.reassignInterval;
    this.#reassign(this.#config);
  }

  #reassign({ hysteresis }: Pick<AssignmentConfig, 'hysteresis'>): void {
    const { mode, classes, minEndpoints: least } = this.#config;
    if (mode === 'labels') {
      this.#byLabels();
      return;
    }
    const endpoints = this.#host.pool.snapshot();
    const weights = new Map(
      classes.map(({ name, share = 1 }) => [name, this.#weight(name, share)]),
    );
    const wanted = apportion(weights, { total: endpoints.length, least });
    if (!this.#worthMoving(weights, endpoints, hysteresis)) return;
    this.#move(endpoints, wanted);
  }

  #weight(name: string, share: number): number {
    if (this.#config.mode === 'shares') return share;
    const known = [...this.#work.values()].some((work) => work > 0);
    return known ? (this.#work.get(name) ?? 0) : share;
  }

  /** Whether an endpoint has no class, or a class is off its share by more than the hysteresis. */
  #worthMoving(
    weights: ReadonlyMap<string, number>,
    endpoints: readonly Endpoint[],
    hysteresis: number,
  ): boolean {
    if (endpoints.some(({ id }) => !this.#byId.has(id))) return true;
    const sum = [...weights.values()].reduce((a, b) => a + b, 0);
    const counts = this.#counts(endpoints);
    return [...weights].some(([name, weight]) => {
      const exact = sum > 0 ? (weight / sum) * endpoints.length : 0;
      return Math.abs((counts.get(name) ?? 0) - exact) > 0.5 + hysteresis;
    });
  }

  #counts(endpoints: readonly Endpoint[]): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { id } of endpoints) {
      const name = this.#byId.get(id);
      if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    return counts;
  }

  /**
   * Moves as few endpoints as possible: those that their class has too many of, and those without a
   * class.
   */
  #move(endpoints: readonly Endpoint[], wanted: ReadonlyMap<string, number>): void {
    const counts = this.#counts(endpoints);
    const spare: Endpoint['id'][] = [];
    for (const { id } of endpoints.toReversed()) {
      const name = this.#byId.get(id);
      const count = name === undefined ? 0 : (counts.get(name) ?? 0);
      if (name !== undefined && count <= (wanted.get(name) ?? 0)) continue;
      if (name !== undefined) counts.set(name, count - 1);
      spare.push(id);
    }
    for (const [name, count] of wanted) {
      for (let missing = count - (counts.get(name) ?? 0); missing > 0; missing--) {
        const id = spare.pop();
        if (id !== undefined) this.#byId.set(id, name);
      }
    }
  }

  #byLabels(): void {
    for (const { id, labels } of this.#host.pool.snapshot()) {
      const match = this.#config.classes.find(({ endpointLabels = {} }) =>
        Object.entries(endpointLabels).every(([key, value]) => labels.get(key) === value),
      );
      if (match === undefined) this.#byId.delete(id);
      else this.#byId.set(id, match.name);
    }
  }
}
