import { EMBEDDED_CATALOGUE } from '../../../src/catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../../src/config/load.ts';
import type { SessionOptions } from '../../../src/extproc/session/session.ts';
import type { EndpointId } from '../../../src/framework/endpoint.ts';
import type { Millis, Random } from '../../../src/framework/runtime.ts';
import { withoutNetwork } from '../../../src/library/create-picker.ts';
import { createOpenBody, headerOnlyRequest } from '../../../src/openai/parsers/open-body.ts';
import { EndpointPicker } from '../../../src/picker/endpoint-picker.ts';
import { ControlledRouter } from '../../../src/picker/flow-control/controlled-router.ts';
import type { PickerPlan } from '../../../src/picker/plan/picker-plan.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import { drawnBelow } from '../drawn.ts';
import { UnsteadyClock } from '../unsteady-clock.ts';
import { StormStream } from './storm-stream.ts';
import { threadsByClock } from './threads-by-clock.ts';

/** How long requests may wait, by the configuration that waits in force. */
export interface Bounds {
  readonly config: string;
  /** By the priority, and by the client's own time where it has one. */
  readonly boundMs: (priority: number, ownMs: Millis | undefined) => Millis;
  /** How soon the requests that wait are placed where none may wait any more. */
  readonly placesWithinMs?: Millis;
}

export interface WaitStormOptions {
  readonly requests: number;
  readonly inThreads: boolean;
  /** They take turns with the first while requests wait. */
  readonly reloads?: readonly Bounds[];
}

export interface WaitStorm {
  /** Requests that waited as long as they may. */
  readonly ended: number;
  readonly placed: number;
  readonly longestTurnMs: Millis;
  /** What must not be: one sentence each. */
  readonly faults: readonly string[];
}

interface Waiting {
  readonly stream: StormStream;
  readonly since: Millis;
  readonly priority: number;
  readonly ownMs: Millis | undefined;
  /** It waits no longer than until then. */
  until: Millis;
  /** The longest turn meanwhile: a time that ends within a call is seen after it. */
  turnMs: Millis;
}

const catalogue = {
  ...EMBEDDED_CATALOGUE,
  dataSources: EMBEDDED_CATALOGUE.dataSources.map(withoutNetwork),
};
const planOf = ({ config: text }: Bounds): PickerPlan =>
  loadConfig({ text, source: 'storm', catalogue });
const PRIORITIES = [0, 0, 0, 100, -10];
/** Flow control looks so often, a timer has whole milliseconds, and threads take a turn or two. */
const LOOKS_MS = 12;

/** More requests than the endpoints can take, whose time to wait ends while time passes in calls. */
export function waitStorm(seed: number, bounds: Bounds, options: WaitStormOptions): WaitStorm {
  return new RunningStorm(seed, bounds, options).run();
}

class RunningStorm {
  #bounds: Bounds;
  readonly #options: WaitStormOptions;
  readonly #random: Random;
  readonly #clock: UnsteadyClock;
  readonly #picker: EndpointPicker;
  readonly #router: ControlledRouter;
  readonly #faults: string[] = [];
  readonly #plans: ReadonlyMap<Bounds, PickerPlan>;
  readonly #streams: StormStream[] = [];
  #waiting: Waiting[] = [];
  #ended = 0;
  #placed = 0;
  #longestTurnMs: Millis = 0;

  constructor(seed: number, bounds: Bounds, options: WaitStormOptions) {
    this.#bounds = bounds;
    this.#options = options;
    this.#random = seededRandom(seed);
    this.#clock = new UnsteadyClock(this.#random.fork('clock'));
    this.#clock.hasPunctualTimers = true;
    const plan = planOf(bounds);
    this.#plans = new Map([bounds, ...(options.reloads ?? [])].map((each) => [each, planOf(each)]));
    const network = { get: () => Promise.reject(new Error('nobody there')) };
    const runtime = { clock: this.#clock, random: this.#random.fork('core'), network };
    this.#router = new ControlledRouter({ clock: this.#clock });
    this.#picker = new EndpointPicker({
      plan,
      runtime,
      subscribers: [this.#router.observer, { onRouted: () => void (this.#placed += 1) }],
    });
    this.#router.attach(this.#picker);
    this.#router.configure(plan.flowControl);
    for (let at = 0; at < 2; at++) this.#add(at);
  }

  run(): WaitStorm {
    const options = this.#sessionOptions();
    for (let n = 0; n < this.#options.requests; n++) {
      if (this.#random.next() < 0.05) this.#reload();
      this.#send(n, options);
      if (this.#random.next() < 0.4) this.#advanceBy(100 * this.#random.next());
    }
    for (let n = 0; n < 120; n++) this.#advanceBy(1000);
    for (const stream of this.#streams) this.#faults.push(...stream.faults());
    for (const stream of this.#streams) stream.close('cancelled');
    this.#advanceBy(10_000);
    this.#router.stop();
    this.#picker.stop();
    if (this.#clock.pending > 0) this.#faults.push(`${this.#clock.pending} timers are left`);
    const [ended, placed, longestTurnMs] = [this.#ended, this.#placed, this.#longestTurnMs];
    return { ended, placed, longestTurnMs, faults: this.#faults };
  }

  /** All timers that were due by then have fired: what should have ended has ended. */
  #advanceBy(ms: Millis): void {
    const until = this.#clock.at + ms;
    this.#clock.advanceBy(ms);
    const { longestTurnMs } = this.#clock;
    this.#longestTurnMs = Math.max(this.#longestTurnMs, longestTurnMs);
    this.#clock.longestTurnMs = 0;
    for (const each of this.#waiting) each.turnMs = Math.max(each.turnMs, longestTurnMs);
    const late = ({ until: end, turnMs }: Waiting): boolean => end + LOOKS_MS + 2 * turnMs < until;
    for (const { stream, since, until: end } of this.#waiting.filter(late)) {
      this.#faults.push(
        `${stream.id} waits for ${until - since} ms, and may for ${end - since} ms`,
      );
    }
    this.#waiting = this.#waiting.filter((each) => !late(each));
  }

  /** Those that wait may wait for as long as the new configuration says, from when they came. */
  #reload(): void {
    const all = [...this.#plans];
    const [bounds, plan] = all[drawnBelow(this.#random, all.length)] ?? [];
    if (bounds === undefined || plan === undefined || bounds === this.#bounds) return;
    this.#bounds = bounds;
    this.#clock.turn(() => {
      this.#picker.adopt(plan);
      this.#router.configure(plan.flowControl);
    });
    for (const each of this.#waiting) {
      const end = each.since + bounds.boundMs(each.priority, each.ownMs);
      each.until = Math.max(this.#clock.at + (bounds.placesWithinMs ?? 0), end);
    }
  }

  #send(n: number, options: SessionOptions): void {
    const draw = (below: number): number => drawnBelow(this.#random, below);
    const priority = PRIORITIES[draw(PRIORITIES.length)] as number;
    const ownMs = this.#random.next() < 0.3 ? 1 + draw(6000) : undefined;
    const stream = new StormStream(`r${n}`, options, {
      clock: this.#clock,
      random: this.#random,
      onAnswer: (answered) => this.#answered(answered),
    });
    const since = this.#clock.at;
    const until = since + this.#bounds.boundMs(priority, ownMs);
    this.#streams.push(stream);
    this.#waiting.push({ stream, since, priority, ownMs, until, turnMs: 0 });
    const pairs = {
      ':path': '/v1/completions',
      'x-gateway-inference-objective': String(priority),
      'x-gateway-inference-fairness-id': `tenant ${draw(4)}`,
      ...(ownMs !== undefined && { 'x-llm-d-inference-ttl': `${ownMs}ms` }),
    };
    const prompt = `${'a b '.repeat(9000)}${n}`;
    this.#clock.turn(() => stream.send(pairs, `{"model":"m","stream":true,"prompt":"${prompt}"}`));
    if (this.#random.next() > 0.1) return;
    this.#clock.setTimer(draw(3000), () => {
      this.#waiting = this.#waiting.filter((each) => each.stream !== stream);
      stream.close('cancelled');
    });
  }

  #answered(stream: StormStream): void {
    this.#ended += stream.refusals;
    this.#waiting = this.#waiting.filter((each) => each.stream !== stream);
  }

  #sessionOptions(): SessionOptions {
    let ids = 0;
    const onFault = (error: unknown): void =>
      void this.#faults.push(`a session failed: ${String(error)}`);
    const priorityOf = (objective = '0'): number => Number(objective);
    const router = this.#options.inThreads
      ? threadsByClock(this.#router, this.#clock, onFault)
      : this.#router;
    if ('setPreparing' in router) router.setPreparing('waits');
    return {
      router,
      openBody: createOpenBody({ bodyBytesMax: 10_000_000, hashSeed: 1, priorityOf }),
      headerOnly: headerOnlyRequest,
      newRequestId: () => `r${ids++}`,
      earlyPickBytes: 1_000_000,
      halfCloseAfterPick: false,
      onFault,
      onRefused: () => undefined,
    };
  }

  #add(at: number): void {
    const id = `e${at}` as EndpointId;
    this.#picker.pool.upsert({ id, address: `10.0.0.${at}:8000`, labels: new Map() });
  }
}
