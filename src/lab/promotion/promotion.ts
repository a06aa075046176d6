import type { Clock, Millis, Timer } from '../../framework/runtime.ts';
import {
  type ArmReports,
  demotionReason,
  type PromotionRule,
  promotionReason,
  promotionRule,
  type ShadowEvidence,
} from './promotion-rule.ts';

/** What promotion moves. */
export interface ChallengerControl {
  /** Makes a shadow's configuration a challenger without requests. Throws where that cannot be. */
  start(shadow: string): void;
  setShare(percent: number): void;
  withdraw(): void;
  outcomes(): ArmReports;
}

export interface PromotionOptions {
  readonly challenger: ChallengerControl;
  /** Undefined where there is no such shadow, or it has shown nothing yet. */
  readonly evidenceOf: (shadow: string) => ShadowEvidence | undefined;
  /** Without one nothing begins by itself; what regresses ends by itself all the same. */
  readonly rule: PromotionRule | undefined;
  readonly clock: Clock;
  readonly onEvent: (event: PromotionEvent) => void;
}

export interface PromotionEvent {
  /** Since the Unix epoch. */
  readonly wallMs: Millis;
  readonly what: 'promoted' | 'demoted';
  readonly shadow: string;
  /** Of requests, from here on. */
  readonly percent: number;
  readonly by: 'rule' | 'hand';
  readonly why: string;
}

export interface PromotionStatus {
  readonly shadow: string | undefined;
  readonly percent: number;
  /** Whether the rule may begin or go on; not after anything was done by hand, nor after a demotion. */
  readonly automatic: boolean;
  readonly outcomes: ArmReports;
  readonly events: readonly PromotionEvent[];
}

const CHECK_INTERVAL_MS = 1000;
const EVENTS_MAX = 100;

/** Gives a shadow requests to decide, more of them while it does well, and takes them away when it does not. */
export class Promotion {
  readonly #options: PromotionOptions;
  readonly #demote: PromotionRule['demote'];
  #timer: Timer;
  #shadow: string | undefined;
  #percent = 0;
  #automatic: boolean;
  #events: PromotionEvent[] = [];

  constructor(options: PromotionOptions) {
    this.#options = options;
    this.#automatic = options.rule !== undefined;
    this.#demote = (options.rule ?? promotionRule.parse({ shadow: 'any' })).demote;
    this.#timer = options.clock.setTimer(CHECK_INTERVAL_MS, () => this.#tick());
  }

  status(): PromotionStatus {
    return {
      shadow: this.#shadow,
      percent: this.#percent,
      automatic: this.#automatic,
      outcomes: this.#options.challenger.outcomes(),
      events: this.#events,
    };
  }

  /** By hand: from here on it decides so many of a hundred requests. Throws where it cannot begin. */
  promote(shadow: string, percent: number): void {
    this.#automatic = false;
    this.#move(shadow, percent, 'hand', 'asked for');
  }

  /** By hand. False where nobody was promoted. */
  demote(): boolean {
    this.#automatic = false;
    return this.#end('hand', 'asked for');
  }

  /** Something has happened after which it must not decide. */
  fail(why: string): void {
    this.#automatic = false;
    this.#end('rule', why);
  }

  stop(): void {
    this.#timer.cancel();
  }

  #tick(): void {
    this.#timer = this.#options.clock.setTimer(CHECK_INTERVAL_MS, () => this.#tick());
    if (this.#shadow === undefined) this.#checkEvidence();
    else this.#checkOutcomes();
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
    const next = rule.promote.stepsPercent.find((percent) => percent > this.#percent);
    if (next === undefined || requests < rule.promote.stepRequests) return;
    this.#step(rule.shadow, next, `${requests} requests at ${this.#percent} %, none the worse`);
  }

  #step(shadow: string, percent: number, why: string): void {
    try {
      this.#move(shadow, percent, 'rule', why);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.fail(reason);
      this.#record({ what: 'demoted', shadow, percent: 0, by: 'rule', why: reason });
    }
  }

  #move(shadow: string, percent: number, by: PromotionEvent['by'], why: string): void {
    const { challenger } = this.#options;
    if (this.#shadow !== shadow) {
      this.#end(by, `${shadow} takes its place`);
      challenger.start(shadow);
    }
    challenger.setShare(percent);
    this.#shadow = shadow;
    this.#percent = percent;
    this.#record({ what: 'promoted', shadow, percent, by, why });
  }

  #end(by: PromotionEvent['by'], why: string): boolean {
    const shadow = this.#shadow;
    if (shadow === undefined) return false;
    this.#options.challenger.withdraw();
    this.#shadow = undefined;
    this.#percent = 0;
    this.#record({ what: 'demoted', shadow, percent: 0, by, why });
    return true;
  }

  #record(event: Omit<PromotionEvent, 'wallMs'>): void {
    const { clock, onEvent } = this.#options;
    const dated = { wallMs: clock.wallTime(), ...event };
    this.#events = [...this.#events, dated].slice(-EVENTS_MAX);
    onEvent(dated);
  }
}
