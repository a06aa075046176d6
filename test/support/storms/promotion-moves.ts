import type { Clock, Random } from '../../../src/framework/runtime.ts';
import type { EndpointPicker } from '../../../src/picker/endpoint-picker.ts';
import type { JournalSubscriber } from '../../../src/picker/events/journal.ts';
import type { PickerPlan } from '../../../src/picker/plan/picker-plan.ts';
import type { ArmReport } from '../../../src/promotion/arm-tally.ts';
import type { Promotion, PromotionEvent } from '../../../src/promotion/promotion.ts';
import { type PromotionRule, promotionRule } from '../../../src/promotion/promotion-rule.ts';
import { createLog } from '../../../src/runtime/log/log.ts';
import { PromotionControl } from '../../../src/serve/picker/promotion-control.ts';
import { ParityTally } from '../../../src/shadow/parity.ts';
import type { Shadow } from '../../../src/shadow/start-shadow.ts';

/** Few requests are enough to promote and demote. */
const RULE: PromotionRule = promotionRule.parse({
  shadow: 's0',
  promote: { decisions: 1, stepsPercent: [10, 50, 90], stepRequests: 10 },
  demote: { requests: 30 },
});

/** Shadows that are promoted and demoted by a rule and by hand, and what that must agree with. */
export class PromotionMoves {
  readonly subscribers: readonly JournalSubscriber[];
  readonly #random: Random;
  readonly #control: PromotionControl;
  readonly #names: readonly string[];
  readonly #faults = new Set<string>();
  #promotion: Promotion | undefined;
  /** Who challenges the plan in charge, as the picker says. */
  #challenger: string | undefined;
  /** Requests that a challenger has decided. */
  decided = 0;

  constructor(plans: readonly PickerPlan[], random: Random, clock: Clock) {
    const named = plans.map((plan, at) => [`s${at}`, plan] as const);
    this.#names = named.map(([name]) => name);
    this.#random = random;
    this.#control = new PromotionControl({
      plans: new Map(named),
      inCharge: plans[0] ?? {},
      rule: RULE,
      random: random.fork('canary'),
      clock,
      log: createLog('silent'),
    });
    const ends = (): void => void (this.#challenger = undefined);
    const own: JournalSubscriber = {
      onChallenged: (_plan, name) => void (this.#challenger = name),
      onWithdrawn: ends,
      onAdopted: ends,
      onDecision: ({ decision }) => {
        if (this.#names.includes(decision?.decidedBy ?? '')) this.decided += 1;
      },
    };
    this.subscribers = [...this.#control.subscribers, own];
  }

  start(picker: EndpointPicker): void {
    this.#promotion = this.#control.start(picker, [this.#shadow()]);
  }

  /** Somebody promotes or demotes, or nobody does; then all must agree. */
  move(): void {
    const name = this.#names[Math.floor(this.#random.next() * this.#names.length)] ?? '';
    const chance = this.#random.next();
    if (chance < 0.02) this.#promotion?.promote(name, Math.floor(101 * this.#random.next()));
    else if (chance < 0.03) this.#promotion?.demote();
    this.#check();
  }

  /** What must not be: one sentence each. */
  end(): readonly string[] {
    this.#check();
    this.#promotion?.demote();
    this.#promotion?.stop();
    this.#check();
    const { events = [] } = this.#promotion?.status() ?? {};
    let at: PromotionEvent | undefined;
    for (const event of events) {
      const isOther = at?.what === 'promoted' && event.shadow !== at.shadow;
      if (isOther || (event.what === 'demoted' && at?.what !== 'promoted')) {
        this.#faults.add(`${event.what} ${event.shadow} follows ${at?.what} ${at?.shadow}`);
      }
      at = event;
    }
    return [...this.#faults];
  }

  #check(): void {
    const { shadow, percent, outcomes } = this.#promotion?.status() ?? {};
    const decides = this.#challenger;
    if (shadow !== decides) this.#faults.add(`${shadow} is promoted, and ${decides} decides`);
    if (shadow === undefined && percent !== 0) this.#faults.add(`nobody has ${percent} %`);
    for (const [arm, report] of Object.entries(outcomes ?? {})) {
      if ('latency' in report && !isSound(report)) {
        this.#faults.add(`${arm} has ${JSON.stringify(report)}`);
      }
    }
  }

  /** It answers with evidence for itself, as one in a thread does. */
  #shadow(): Shadow {
    const gain = { decisions: 1000, percent: 9, meanMs: 9, lowPercent: 8, highPercent: 10 };
    const parity = { ...new ParityTally().report(), gain, ownDecisions: 0 };
    const state = { name: 's0', running: true, restarts: 0, dropped: 0, waiting: 0 };
    return {
      receive: () => undefined,
      status: () => ({ ...state, parity: this.#random.next() < 0.3 ? undefined : parity }),
      stop: () => Promise.resolve(),
    };
  }
}

function isSound({ requests, failed, aborted, latency }: ArmReport): boolean {
  const { count, meanMs, varianceMs2, waitedMs } = latency;
  const isCounted = failed <= requests && aborted <= count;
  return isCounted && meanMs >= 0 && varianceMs2 >= 0 && waitedMs >= 0 && waitedMs <= meanMs + 1e-6;
}
