import { loadConfig } from '../../config/load.ts';
import { headroomOf } from '../../cost-model/slo-headroom.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { RoutingError } from '../../framework/error.ts';
import { DEFAULT_PREFIX_PRODUCER } from '../../framework/keys.ts';
import type { PluginCatalogue, ReplacementReport } from '../../framework/plugin.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import type { Random, Runtime } from '../../framework/runtime.ts';
import type { SchedulingContext, SchedulingResult } from '../../framework/scheduling.ts';
import { promptOfRuns } from '../../journal/capture/block-numbers.ts';
import { decisionOf } from '../../journal/capture/capture-picker.ts';
import {
  CAPTURE_VERSION,
  type CapturedDecision,
  type CapturedRequest,
  type CaptureRecord,
} from '../../journal/capture/capture-record.ts';
import { withoutNetwork } from '../../library/create-picker.ts';
import { createEndpointPicker, type EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { asItWas } from './as-it-was.ts';
import { feedPool } from './feed-pool.ts';
import { Ranking, type Standing } from './ranking.ts';
import type { FirstToken, Redecision } from './redecision.ts';
import { ReplayClock } from './replay-clock.ts';
import { requestOf } from './request-of.ts';

export interface RedecideOptions {
  readonly catalogue: PluginCatalogue;
  /** Another configuration as text; the capture's own where left out. */
  readonly config?: { readonly text: string; readonly source: string } | undefined;
  readonly randomOf: (seed: number) => Random;
  /**
   * What later decisions build on: where requests really went, or where this core would have sent them. The same where both
   * decide alike.
   */
  readonly state?: 'as-it-happened' | 'as-if-decided';
  /** Of answers whose first token is seen and was predicted; only with the state as it happened. */
  readonly onFirstToken?: ((token: FirstToken) => void) | undefined;
  /** Whether to say of each decision that differs why. */
  readonly explains?: boolean | undefined;
  /** For a scheduler of the configuration that is in another process. Without it, such a one is not asked. */
  readonly schedulerRuntime?: Runtime;
}

/** A request that has not ended yet. */
interface Open {
  readonly routed: RoutedRequest;
  /** Until its first token. */
  readonly expected?: {
    readonly request: CapturedRequest;
    readonly at: number;
    readonly predictedMs: number;
  };
}

/** A decision core that is fed what another was fed. */
export class Redecider {
  readonly #clock: ReplayClock;
  readonly #picker: EndpointPicker;
  readonly #open = new Map<number, Open>();
  readonly #ranking: Ranking;
  readonly #explains: boolean;
  readonly #onFirstToken: RedecideOptions['onFirstToken'];
  #predicts: boolean;
  readonly #planOf: (captured: unknown) => PickerPlan;
  /** Decides by the capture's own configurations. */
  readonly #isOwn: boolean;
  #result: SchedulingResult | undefined;
  #ttftMs: Redecision['ttftMs'];
  #place: number | undefined;
  #standing: Standing | undefined;
  #isReplaced: boolean;
  /** What was decided of the request at hand. */
  #was: CapturedDecision | undefined;
  /** Asked about in another process: the answer belongs to this very object. */
  #prepared: { readonly n: number; readonly request: InferenceRequest } | undefined;

  constructor(
    {
      version,
      seed,
      config: captured,
      timers,
      t,
      pool = [],
    }: Extract<CaptureRecord, { e: 'capture' }>,
    options: RedecideOptions,
  ) {
    this.#clock = new ReplayClock(timers);
    const { catalogue, config, randomOf, state = 'as-it-happened', schedulerRuntime } = options;
    const { explains = false } = options;
    this.#explains = explains;
    this.#ranking = new Ranking({ keepsTerms: explains });
    if (state === 'as-it-happened') this.#onFirstToken = options.onFirstToken;
    if (version > CAPTURE_VERSION) {
      throw new Error(
        `the capture is of version ${version}, newer than ${CAPTURE_VERSION}, which this can read`,
      );
    }
    const offline = { ...catalogue, dataSources: catalogue.dataSources.map(withoutNetwork) };
    this.#planOf = (own) =>
      loadConfig({
        text: config?.text ?? JSON.stringify(own),
        source: config?.source ?? 'the captured configuration',
        catalogue: offline,
      });
    this.#isOwn = config === undefined;
    const plan = this.#planOf(captured);
    this.#predicts = predictsWith(plan);
    this.#isReplaced = plan.scheduler !== undefined;
    const network = { get: () => Promise.reject(new Error('a replay has no network')) };
    this.#picker = createEndpointPicker({
      plan,
      runtime: { clock: this.#clock, random: randomOf(seed), network },
      ...(schedulerRuntime && { schedulerRuntime }),
      wrapPlugin: () => this.#ranking.wrap,
      wrapScheduler: (scheduler) => ({
        schedule: (endpoints, context) => {
          const decided = scheduler.schedule(endpoints, context);
          // What another process has decided can be taken from the capture, and not be decided again.
          const given = config === undefined && isByAnother(this.#was);
          const own = given ? asItWas(decided, endpoints, this.#was) : decided;
          this.#result = own;
          this.#compare(own, endpoints, context);
          return state === 'as-it-happened' ? asItWas(own, endpoints, this.#was) : own;
        },
      }),
    });
    if (pool.length > 0) {
      this.#clock.settingUp(t, () => {
        for (const record of pool) feedPool(this.#picker, record);
      });
    }
  }

  /**
   * Before a request is taken, where it is decided in another process: resolved when that has answered, or will not. At once
   * where nothing has to be waited for.
   */
  async prepare({ t, n, r, subset }: Extract<CaptureRecord, { e: 'q' }>): Promise<void> {
    const request = requestOf(r);
    this.#prepared = { n, request };
    await new Promise<void>((resolve) => {
      const ask = (): boolean => this.#picker.prepare(request, [], resolve, { subset });
      if (!this.#clock.during(t, ask)) resolve();
    });
  }

  take(record: Exclude<CaptureRecord, { e: 'capture' }>): Redecision | undefined {
    switch (record.e) {
      case 'q':
        return this.#clock.during(record.t, () => this.#decide(record));
      case 'timer':
        this.#clock.fire(record.i, record.t);
        return undefined;
      case 'first':
      case 'served':
      case 'body':
      case 'answer':
      case 'done':
        this.#clock.during(record.t, () => this.#happen(record));
        return undefined;
      case 'adopt':
        this.#adopt(record);
        return undefined;
      case 'gap':
        return undefined;
      case '+':
      case '-':
      case 'labels':
      case 'm':
      case 'cache':
      case 'lora':
      case 'started':
      case 'custom':
        feedPool(this.#picker, record);
        return undefined;
    }
  }

  /** Whether something else stands in place of the profiles. */
  get isReplaced(): boolean {
    return this.#isReplaced;
  }

  /** Ends what it has begun, such as a connection to a scheduler. */
  stop(): void {
    this.#picker.stop();
  }

  /** How a scheduler in place of the profiles fares, where there is one. */
  replacement(): ReplacementReport | undefined {
    return this.#picker.replacement();
  }

  /** Another configuration than the capture's stays. */
  #adopt({ t, config }: Extract<CaptureRecord, { e: 'adopt' }>): void {
    if (!this.#isOwn) return;
    const plan = this.#planOf(config);
    this.#clock.settingUp(t, () => this.#picker.adopt(plan));
    this.#predicts = predictsWith(plan);
    this.#isReplaced = plan.scheduler !== undefined;
  }

  #decide(record: Extract<CaptureRecord, { e: 'q' }>): Redecision {
    const { n, r, subset, firstTokenSeen, endSeen, d } = record;
    this.#result = undefined;
    this.#ttftMs = undefined;
    this.#place = undefined;
    this.#standing = undefined;
    this.#ranking.begin();
    this.#was = d;
    let failed: RoutingError | undefined;
    try {
      const request = this.#prepared?.n === n ? this.#prepared.request : requestOf(r);
      const routed = this.#picker.route(request, { subset, firstTokenSeen, endSeen });
      if ('error' in d) routed.done('aborted');
      else this.#open.set(n, { routed, ...this.#expectation(record) });
    } catch (error) {
      if (!(error instanceof RoutingError)) throw error;
      failed = error;
    }
    const target = targetOf(this.#result);
    const is: CapturedDecision =
      target === undefined
        ? { error: failed?.code ?? 'saturated' }
        : decisionOf({ endpoint: target }, this.#result);
    const about = { place: this.#place, standing: this.#standing, ttftMs: this.#ttftMs };
    return { n, request: r, was: d, is, ...about, ...(this.#isUndecided(is) && UNDECIDED) };
  }

  /** What the capture's own scheduler decided is taken from there. */
  #isUndecided(is: CapturedDecision): boolean {
    return this.#isReplaced && !this.#isOwn && !('error' in is) && is.by === undefined;
  }

  /** Nothing to say where nobody was chosen; no times where the configuration knows nothing of caches. */
  #compare(
    own: SchedulingResult,
    endpoints: readonly Endpoint[],
    context: SchedulingContext,
  ): void {
    const was = this.#was;
    const target = targetOf(own);
    const id = was !== undefined && 'endpoint' in was ? was.endpoint : undefined;
    const actual = endpoints.find((endpoint) => endpoint.id === id);
    if (actual === undefined || target === undefined) return;
    this.#place = this.#ranking.placeOf(actual, own);
    if (this.#explains && target.id !== id) this.#standing = this.#ranking.standingOf(actual, own);
    if (!this.#predicts) return;
    const slo = context.request.ttftSloMs ?? 0;
    const ttftOf = (endpoint: Endpoint): number => slo - headroomOf(endpoint, context).ttftMs;
    let best = Number.POSITIVE_INFINITY;
    for (const endpoint of endpoints) best = Math.min(best, ttftOf(endpoint));
    this.#ttftMs = { was: ttftOf(actual), is: ttftOf(target), best };
  }

  /** Where nobody hears of it, and of an answer that comes in one piece, nothing is expected. */
  #expectation({ t, r, firstTokenSeen }: Extract<CaptureRecord, { e: 'q' }>): Omit<Open, 'routed'> {
    const told = this.#onFirstToken !== undefined && firstTokenSeen && r.streaming;
    if (!told || this.#ttftMs === undefined) return {};
    return { expected: { request: r, at: t, predictedMs: this.#ttftMs.was } };
  }

  #happen(
    record: Extract<CaptureRecord, { e: 'first' | 'served' | 'body' | 'answer' | 'done' }>,
  ): void {
    const open = this.#open.get(record.n);
    if (open === undefined) return;
    const { routed } = open;
    if (record.e === 'first') this.#firstToken(record, open);
    else if (record.e === 'served') routed.served(record.address);
    else if (record.e === 'body') routed.bodyRead(requestOf(record.r));
    else if (record.e === 'answer') {
      routed.answered(promptOfRuns(record.blocks, record.blockTokens));
    } else {
      this.#open.delete(record.n);
      const [promptTokens, completionTokens, cached] = record.u ?? [0, 0, null];
      const usage = { promptTokens, completionTokens, cachedTokens: cached ?? undefined };
      routed.done(record.o, record.u && usage, record.bytes);
    }
  }

  #firstToken({ n, t }: Extract<CaptureRecord, { e: 'first' }>, { routed, expected }: Open): void {
    routed.firstToken();
    if (expected === undefined) return;
    this.#open.set(n, { routed });
    const { request, at, predictedMs } = expected;
    this.#onFirstToken?.({ request, predictedMs, observedMs: t - at });
  }
}

function predictsWith({ plugins }: PickerPlan): boolean {
  return plugins.some(({ name }) => name === DEFAULT_PREFIX_PRODUCER);
}

function targetOf(result: SchedulingResult | undefined): Endpoint | undefined {
  return result?.primary.kind === 'picked' ? result.primary.targets[0]?.endpoint : undefined;
}

function isByAnother(was: CapturedDecision | undefined): boolean {
  return was !== undefined && 'endpoint' in was && was.by !== undefined;
}

const UNDECIDED = { undecided: true } as const;
