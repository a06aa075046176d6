import { messageOf } from '../framework/error.ts';
import type { Clock, Millis, Timer } from '../framework/runtime.ts';
import { grouped } from '../framework/values/grouped.ts';
import {
  beginConditions,
  type PromotionCondition,
  promotionReason,
  stepCondition,
  waitsFor,
} from './promotion-conditions.ts';
import {
  type ArmReports,
  demotionReason,
  type PromotionRule,
  promotionRule,
  type ShadowEvidence,
} from './promotion-rule.ts';

/** How promotion controls the challenger. */
export interface ChallengerControl {
  /**
   * Makes a shadow's configuration the challenger, in place of the present one and without requests
   * yet. Throws if impossible; then nothing has changed.
   */
  start(shadow: string): void;
  setShare(percent: number): void;
  withdraw(): void;
  outcomes(): ArmReports;
}

export interface PromotionOptions {
  readonly challenger: ChallengerControl;
  /** Undefined where there is no such shadow, or no evidence yet. */
  readonly evidenceOf: (shadow: string) => ShadowEvidence | undefined;
  /** Without a rule, shadows are only demoted automatically, not promoted. */
  readonly rule: PromotionRule | undefined;
  readonly clock: Clock;
  readonly onEvent: (event: PromotionEvent) => void;
  /** Called when the rule waits for something else than before, with all that it waits for. */
  readonly onWaiting?: ((text: string) => void) | undefined;
  /** Called when the rule ends while no shadow is promoted: no other event says so. */
  readonly onRuleEnded?: ((why: string) => void) | undefined;
}

export interface PromotionEvent {
  /** Since the Unix epoch. */
  readonly wallMs: Millis;
  readonly what: 'promoted' | 'demoted';
  readonly shadow: string;
  /** The share of requests from then on. */
  readonly percent: number;
  readonly by: 'rule' | 'hand';
  readonly why: string;
}

export interface PromotedShadow {
  readonly shadow: string;
  /** Its share of the requests. */
  readonly percent: number;
}

export interface PromotionStatus {
  readonly shadow: string | undefined;
  readonly percent: number;
  /** Whether the rule may promote; not after a manual action, nor after a demotion. */
  readonly automatic: boolean;
  /**
   * Whether a rule was given. It has ended where it is not `automatic`, until the picker starts
   * again.
   */
  readonly hasRule: boolean;
  /** Why the rule has ended. */
  readonly ruleEnded?: string | undefined;
  /** What the rule asks for before it promotes further; empty where it does not. */
  readonly conditions: readonly PromotionCondition[];
  readonly outcomes: ArmReports;
  readonly events: readonly PromotionEvent[];
}

const CHECK_INTERVAL_MS = 1000;
const EVENTS_MAX = 100;
const BY_HAND = 'a change by hand';
const PICKER_ENDS =
  'the picker ends; it begins with the configuration in charge when it starts again';

/** Lets a shadow decide requests: more of them while it does well, none when it does worse. */
export class Promotion {
  readonly #options: PromotionOptions;
  readonly #demote: PromotionRule['demote'];
  #timer: Timer;
  #shadow: string | undefined;
  #percent = 0;
  #automatic: boolean;
  #ruleEnded: string | undefined;
  #events: PromotionEvent[] = [];
  /** The conditions that were unmet when `onWaiting` was called last. */
  #unmet = '';

  constructor(options: PromotionOptions) {
    this.#options = options;
    this.#automatic = options.rule !== undefined;
    this.#demote = (options.rule ?? promotionRule.parse({ shadow: 'any' })).demote;
    this.#timer = options.clock.setTimer(CHECK_INTERVAL_MS, () => this.#tick());
  }

  /** The shadow that decides beside the one in charge, and how much; undefined for none. */
  get promoted(): PromotedShadow | undefined {
    return this.#shadow === undefined
      ? undefined
      : { shadow: this.#shadow, percent: this.#percent };
  }

  status(): PromotionStatus {
    return {
      shadow: this.#shadow,
      percent: this.#percent,
      automatic: this.#automatic,
      hasRule: this.#options.rule !== undefined,
      ...(this.#ruleEnded !== undefined && { ruleEnded: this.#ruleEnded }),
      conditions: this.#conditions(),
      outcomes: this.#options.challenger.outcomes(),
      events: this.#events,
    };
  }

  /**
   * Manually: the shadow decides this percentage of requests. Throws where that is impossible; then
   * nothing has changed.
   */
  promote(shadow: string, percent: number): void {
    this.#move(shadow, percent, 'hand', 'asked for');
    this.#endRule(BY_HAND);
  }

  /** Manually. Returns false where no shadow was promoted. */
  demote(): boolean {
    this.#endRule(BY_HAND);
    return this.#end('hand', 'asked for');
  }

  /** Demotes the shadow after an event that excludes it. */
  fail(why: string): void {
    this.#endRule(why);
    this.#end('rule', why);
  }

  #endRule(why: string): void {
    if (!this.#automatic) return;
    this.#automatic = false;
    this.#ruleEnded = why;
    if (this.#shadow === undefined) this.#options.onRuleEnded?.(why);
  }

  /** The picker ends, and a promotion with it: the log has its end, as it has its steps. */
  stop(): void {
    this.#timer.cancel();
    this.#recordEnd('rule', PICKER_ENDS);
  }

  #tick(): void {
    this.#timer = this.#options.clock.setTimer(CHECK_INTERVAL_MS, () => this.#tick());
    if (this.#shadow === undefined) this.#checkEvidence();
    else this.#checkOutcomes();
    this.#reportWaiting();
  }

  #conditions(): readonly PromotionCondition[] {
    const { rule, evidenceOf, challenger } = this.#options;
    if (rule === undefined || !this.#automatic) return [];
    if (this.#shadow === undefined) return beginConditions(rule, evidenceOf(rule.shadow));
    const next = this.#nextStep(rule);
    if (next === undefined) return [];
    const { requests } = challenger.outcomes().challenger;
    return [stepCondition(rule, { requests, percent: this.#percent, next })];
  }

  #nextStep({ promote }: PromotionRule): number | undefined {
    return promote.stepsPercent.find((percent) => percent > this.#percent);
  }

  #reportWaiting(): void {
    const conditions = this.#conditions();
    const unmet = conditions.filter(({ met }) => !met).map(({ name }) => name);
    const key = [this.#percent, ...unmet].join(' ');
    if (key === this.#unmet) return;
    this.#unmet = key;
    if (unmet.length > 0) this.#options.onWaiting?.(waitsFor(conditions));
  }

  #checkEvidence(): void {
    const { rule, evidenceOf } = this.#options;
    if (rule === undefined || !this.#automatic) return;
    const evidence = evidenceOf(rule.shadow);
    const why = evidence && promotionReason(rule, evidence);
    if (why !== undefined) this.#step(rule.shadow, rule.promote.stepsPercent[0] ?? 0, why);
  }

  #checkOutcomes(): void {
    const { rule, challenger } = this.#options;
    const outcomes = challenger.outcomes();
    const fault = demotionReason(this.#demote, outcomes);
    if (fault !== undefined) {
      this.fail(fault);
      return;
    }
    if (rule === undefined || !this.#automatic) return;
    const { requests } = outcomes.challenger;
    const next = this.#nextStep(rule);
    if (next === undefined || requests < rule.promote.stepRequests) return;
    this.#step(
      rule.shadow,
      next,
      `${grouped(requests)} requests at ${this.#percent} % without a regression`,
    );
  }

  #step(shadow: string, percent: number, why: string): void {
    try {
      this.#move(shadow, percent, 'rule', why);
    } catch (error) {
      const reason = messageOf(error);
      this.fail(reason);
      this.#record({ what: 'demoted', shadow, percent: 0, by: 'rule', why: reason });
    }
  }

  #move(shadow: string, percent: number, by: PromotionEvent['by'], why: string): void {
    const { challenger } = this.#options;
    if (this.#shadow !== shadow) {
      // Throws before anything has changed: a mistyped name must not end the present promotion.
      challenger.start(shadow);
      this.#recordEnd(by, `${shadow} replaces it`);
    }
    challenger.setShare(percent);
    this.#shadow = shadow;
    this.#percent = percent;
    this.#record({ what: 'promoted', shadow, percent, by, why });
  }

  #end(by: PromotionEvent['by'], why: string): boolean {
    if (this.#shadow === undefined) return false;
    this.#options.challenger.withdraw();
    this.#recordEnd(by, why);
    return true;
  }

  #recordEnd(by: PromotionEvent['by'], why: string): void {
    const shadow = this.#shadow;
    if (shadow === undefined) return;
    this.#shadow = undefined;
    this.#percent = 0;
    this.#record({ what: 'demoted', shadow, percent: 0, by, why });
  }

  #record(event: Omit<PromotionEvent, 'wallMs'>): void {
    const { clock, onEvent } = this.#options;
    const dated = { wallMs: clock.wallTime(), ...event };
    this.#events = [...this.#events, dated].slice(-EVENTS_MAX);
    onEvent(dated);
  }
}
