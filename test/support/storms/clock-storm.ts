import { z } from 'zod';
import { EMBEDDED_CATALOGUE } from '../../../src/catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../../src/config/load.ts';
import type { SessionOptions } from '../../../src/extproc/session/session.ts';
import type { EndpointId } from '../../../src/framework/endpoint.ts';
import { RoutingError } from '../../../src/framework/error.ts';
import { defineDataSource, type PluginCatalogue } from '../../../src/framework/plugin.ts';
import type { InferenceRequest } from '../../../src/framework/request.ts';
import type { Router } from '../../../src/framework/routing.ts';
import type { Millis, Random } from '../../../src/framework/runtime.ts';
import type { CaptureRecord } from '../../../src/journal/capture/capture-record.ts';
import { recordOf } from '../../../src/journal/capture/record-of.ts';
import { startCapture } from '../../../src/journal/capture/start-capture.ts';
import { withoutNetwork } from '../../../src/library/create-picker.ts';
import { createOpenBody, headerOnlyRequest } from '../../../src/openai/parsers/open-body.ts';
import { EndpointPicker } from '../../../src/picker/endpoint-picker.ts';
import { ControlledRouter } from '../../../src/picker/flow-control/controlled-router.ts';
import type { PickerPlan } from '../../../src/picker/plan/picker-plan.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import { drawnBelow } from '../drawn.ts';
import { UnsteadyClock } from '../unsteady-clock.ts';
import { PromotionMoves } from './promotion-moves.ts';
import { StormStream } from './storm-stream.ts';
import { StormTally } from './storm-tally.ts';
import { threadsByClock } from './threads-by-clock.ts';

/** What became of the requests, and what is left of them once all have ended. */
export interface ClockStorm {
  readonly placed: number;
  readonly refused: number;
  readonly waited: number;
  /** Decided by promoted shadows. */
  readonly challenged: number;
  /** What must not be: one sentence each. */
  readonly faults: readonly string[];
  readonly records: readonly CaptureRecord[];
}

export interface ClockStormOptions {
  readonly configs: readonly string[];
  readonly requests: number;
  readonly pace?: UnsteadyClock['pace'];
  /** Sessions are in another thread than the picker. */
  readonly inThreads?: boolean;
  /** Reservations that are as old are released. */
  readonly maxAgeMs?: Millis;
  /** Configurations challenge the one in charge, at will or by promotion. */
  readonly challenges?: 'at will' | 'promoted' | undefined;
}

const ENDPOINTS = 3;
const CORE_SEED = 11;
const PRIORITIES = [0, 0, 0, 100, -10];

/** A plugin for which requests wait: it is ready at once, later, twice or never. */
const moody = (random: Random) =>
  defineDataSource({
    type: 'moody-source',
    config: z.strictObject({}),
    start: (_config, { runtime: { clock } }) => ({
      prepare: (_request, _body, ready) => {
        const mood = random.next();
        if (mood < 0.1) ready();
        if (mood < 0.2) throw new Error('moody');
        if (mood < 0.99) clock.setTimer(mood * 10, ready);
        if (mood > 0.9) clock.setTimer(mood * 20, ready);
        return mood > 0.3;
      },
      stop: () => undefined,
    }),
  });

export function moodyCatalogue(random: Random): PluginCatalogue {
  const sources = EMBEDDED_CATALOGUE.dataSources.map(withoutNetwork);
  return { ...EMBEDDED_CATALOGUE, dataSources: [...sources, moody(random)] };
}

/** Streams with real sessions, through flow control and picker, in time that passes unsteadily. */
export function clockStorm(seed: number, options: ClockStormOptions): ClockStorm {
  return new RunningStorm(seed, options).run();
}

class RunningStorm {
  readonly #options: ClockStormOptions;
  readonly #random: Random;
  readonly #clock: UnsteadyClock;
  readonly #picker: EndpointPicker;
  readonly #router: ControlledRouter;
  readonly #plans: readonly PickerPlan[];
  readonly #streams: StormStream[] = [];
  readonly #faults: string[] = [];
  readonly #text: string[] = [];
  readonly #drain: () => void;
  readonly #tally = new StormTally();
  readonly #moves: PromotionMoves | undefined;
  #isInterfering = false;

  constructor(seed: number, options: ClockStormOptions) {
    this.#options = options;
    this.#random = seededRandom(seed);
    this.#clock = new UnsteadyClock(this.#random.fork('clock'));
    this.#clock.pace = options.pace ?? 'usual';
    const catalogue = moodyCatalogue(this.#random.fork('moods'));
    this.#plans = options.configs.map((text) => loadConfig({ text, source: 'storm', catalogue }));
    const [plan] = this.#plans;
    if (plan === undefined) throw new Error('no configuration');
    const network = { get: () => Promise.reject(new Error('nobody there')) };
    const runtime = { clock: this.#clock, random: seededRandom(CORE_SEED), network };
    this.#router = new ControlledRouter({ clock: this.#clock });
    if (options.challenges === 'promoted') {
      this.#moves = new PromotionMoves(this.#plans, this.#random.fork('moves'), this.#clock);
    }
    const { picker, capture } = startCapture({ plan, seed: CORE_SEED }, (recorder) => {
      const own = [this.#router.observer, this.#tally.subscriber];
      const subscribers = [recorder, ...own, ...(this.#moves?.subscribers ?? [])];
      return new EndpointPicker({
        plan,
        runtime,
        subscribers,
        stopwatch: this.#clock,
        ...(options.maxAgeMs !== undefined && { reservations: { maxAgeMs: options.maxAgeMs } }),
      });
    });
    this.#picker = picker;
    this.#drain = () => capture.drain();
    capture.listen((bytes) => void this.#text.push(new TextDecoder().decode(bytes)));
    this.#text.push(`${JSON.stringify(capture.head(0))}\n`);
    this.#router.attach(picker);
    this.#router.configure(plan.flowControl);
    this.#moves?.start(picker);
    for (let at = 0; at < ENDPOINTS; at++) this.#add(at);
  }

  run(): ClockStorm {
    const options = this.#sessionOptions();
    for (let n = 0; n < this.#options.requests; n++) {
      this.#changeSomething(n);
      this.#send(n, options);
      // They come in bursts.
      if (this.#random.next() < 0.3) this.#clock.advanceBy(180 * this.#random.next());
    }
    this.#settle();
    this.#faults.push(...(this.#moves?.end() ?? []));
    this.#router.stop();
    this.#picker.stop();
    if (this.#clock.pending > 0) this.#faults.push(`${this.#clock.pending} timers are left`);
    this.#drain();
    const refused = this.#streams.filter(({ refusals }) => refusals > 0).length;
    const records = this.#text.join('').trimEnd().split('\n').map(recordOf);
    const { placed, waited } = this.#tally;
    const challenged = this.#moves?.decided ?? 0;
    return { placed, refused, waited, challenged, faults: this.#faults, records };
  }

  /** Nothing comes any more: what waits must end, and then leave nothing. */
  #settle(): void {
    if (this.#clock.pace !== 'still') this.#clock.pace = 'steady';
    for (let at = 0; at < ENDPOINTS; at++) this.#add(at);
    for (let n = 0; n < 90; n++) {
      this.#sample();
      this.#clock.advanceBy(1000);
    }
    for (const stream of this.#streams) this.#faults.push(...stream.faults());
    for (const stream of this.#streams) stream.close('cancelled');
    this.#clock.advanceBy(600_000);
    for (const { id, heldBytes } of this.#streams) {
      if (heldBytes !== 0) this.#faults.push(`${id} keeps ${heldBytes} bytes`);
    }
    this.#checkNothingLeft();
  }

  #checkNothingLeft(): void {
    const { ledger, pool, waiting } = this.#picker;
    for (const endpoint of pool.snapshot()) {
      const { requests, pendingPrefillTokens, contextTokens } = ledger.load(endpoint);
      const sum = requests + pendingPrefillTokens + contextTokens;
      if (sum !== 0) this.#faults.push(`${endpoint.id} keeps a load of ${sum}`);
    }
    if (waiting.requests + waiting.bytes > 0) this.#faults.push('the picker keeps requests');
    if (this.#router.waiting > 0) this.#faults.push('flow control keeps requests');
    this.#faults.push(...this.#tally.faults());
    for (const { kind, call, name } of this.#picker.faults.counts()) {
      if (name !== 'moody-source') this.#faults.push(`${kind} ${name} failed in ${call}`);
    }
  }

  #sessionOptions(): SessionOptions {
    let ids = 0;
    const priorityOf = (objective = '0'): number => Number(objective);
    const onFault = (error: unknown): void =>
      void this.#faults.push(`a session failed: ${String(error)}`);
    return {
      router: this.#sessionRouter(onFault),
      openBody: createOpenBody({ bodyBytesMax: 10_000_000, hashSeed: 1, priorityOf }),
      headerOnly: headerOnlyRequest,
      newRequestId: () => `r${ids++}`,
      earlyPickBytes: 1_000_000,
      halfCloseAfterPick: false,
      onFault,
      onRefused: () => undefined,
    };
  }

  #sessionRouter(onFault: (error: unknown) => void): Router {
    if (this.#options.inThreads !== true) return this.#router;
    const worker = threadsByClock(this.#router, this.#clock, onFault);
    worker.setPreparing('waits');
    return worker;
  }

  #send(n: number, options: SessionOptions): void {
    const stream = new StormStream(`r${n}`, options, {
      clock: this.#clock,
      random: this.#random,
      onAnswer: (answered) => this.#interfere(answered),
    });
    this.#streams.push(stream);
    const draw = (below: number): number => drawnBelow(this.#random, below);
    const pairs = {
      ':path': '/v1/completions',
      'x-gateway-inference-objective': String(PRIORITIES[draw(PRIORITIES.length)]),
      'x-gateway-inference-fairness-id': `tenant ${draw(4)}`,
      ...(this.#random.next() < 0.2 && { 'x-llm-d-inference-ttl': `${1 + draw(500)}ms` }),
      ...(this.#random.next() < 0.2 && { 'x-slo-ttft-ms': String(1 + draw(2000)) }),
    };
    const text = `${draw(5)} `.repeat(this.#random.next() < 0.5 ? 30_000 : 200);
    stream.send(pairs, `{"model":"m","stream":true,"prompt":"${text}${n}"}`);
    const leaves = this.#random.next() < 0.1;
    if (leaves) this.#clock.setTimer(draw(3000), () => stream.close('cancelled'));
  }

  /** During the call in which one request is answered, a stream ends, this one or another. */
  #interfere(answered: StormStream): void {
    if (this.#isInterfering || this.#random.next() > 0.05) return;
    this.#isInterfering = true;
    const stream = this.#streams.at(-1 - Math.floor(this.#random.next() ** 2 * 40));
    if (this.#random.next() < 0.5) stream?.close('cancelled');
    else if (stream !== answered)
      stream?.session.refuse(new RoutingError('memory-full', 'on purpose'));
    this.#isInterfering = false;
  }

  #changeSomething(n: number): void {
    const chance = (probability: number): boolean => this.#random.next() < probability;
    if (chance(0.2)) this.#sample();
    if (chance(0.01)) this.#picker.pool.remove(`e${n % ENDPOINTS}` as EndpointId);
    if (chance(0.03)) this.#add(n % ENDPOINTS);
    if (chance(0.002)) this.#clock.pass(3_600_000);
    if (this.#options.challenges === 'at will' && chance(0.02)) this.#challenge();
    this.#moves?.move();
    if (chance(0.005)) {
      const plan = this.#plans[drawnBelow(this.#random, this.#plans.length)];
      if (plan !== undefined) {
        this.#picker.adopt(plan);
        this.#router.configure(plan.flowControl);
      }
    }
  }

  #challenge(): void {
    const plan = this.#plans[drawnBelow(this.#random, this.#plans.length)];
    if (plan === undefined || this.#random.next() < 0.3) return this.#picker.withdraw();
    const takes = ({ bodyBytes }: InferenceRequest): boolean => bodyBytes % 2 === 0;
    this.#picker.challenge(plan, { name: 'canary', takes, onThrown: () => undefined });
  }

  #add(at: number): void {
    const id = `e${at}` as EndpointId;
    this.#picker.pool.upsert({ id, address: `10.0.0.${at}:8000`, labels: new Map() });
  }

  /** Servers report what they do, and some samples are old, or from a clock that is ahead. */
  #sample(): void {
    const { pool, ledger } = this.#picker;
    for (const endpoint of pool.snapshot()) {
      if (this.#random.next() < 0.3) continue;
      const { requests } = ledger.load(endpoint);
      const load = {
        waitingQueueSize: requests >> 2,
        runningRequests: requests,
        kvCacheUsage: 0.3,
      };
      const ageMs = this.#random.next() < 0.9 ? 0 : 2000 * (this.#random.next() - 0.5);
      pool.observe(endpoint.id, { ...load, sampledAt: this.#clock.now() - ageMs });
    }
  }
}
