import { readFollowed } from '../../files/following/read-followed.ts';
import { otherPurpose } from '../../files/reading/file-purpose.ts';
import { readYaml } from '../../files/reading/read-yaml.ts';
import { zodIssues } from '../../files/reading/zod-issues.ts';
import { DEFAULT_PREFIX_PRODUCER } from '../../framework/cycle-facts.ts';
import { ConfigError, messageOf } from '../../framework/error.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Clock, Random } from '../../framework/runtime.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { JournalSubscriber } from '../../picker/events/journal.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { withShedding } from '../../picker/plan/with-shedding.ts';
import { Canary } from '../../promotion/canary.ts';
import {
  type ChallengerControl,
  Promotion,
  type PromotionStatus,
} from '../../promotion/promotion.ts';
import {
  type PromotionRule,
  promotionRule,
  type ShadowEvidence,
} from '../../promotion/promotion-rule.ts';
import type { Log } from '../../runtime/log/log.ts';
import type { Shadow } from '../../shadow/start-shadow.ts';
import { HttpError } from '../admin/admin-routes.ts';

export interface PromotionControlOptions {
  /** The plans of the shadows, by name. */
  readonly plans: ReadonlyMap<string, PickerPlan>;
  /** The plan in charge at the start. */
  readonly inCharge: Pick<PickerPlan, 'shedding'>;
  readonly rule?: PromotionRule | undefined;
  readonly random: Random;
  readonly clock: Clock;
  readonly log: Log;
}

/** Lets shadows decide requests: manually through the admin port, or by a rule. */
export class PromotionControl {
  /** Both must subscribe to the picker that `start` gets. */
  readonly subscribers: readonly JournalSubscriber[];
  readonly #canary: Canary;
  readonly #options: PromotionControlOptions;
  #promotion: Promotion | undefined;
  /** Whether the plan in charge refuses requests for saturation. */
  #sheds: boolean;

  constructor(options: PromotionControlOptions) {
    this.#options = options;
    this.#canary = new Canary(options.random);
    this.#sheds = options.inCharge.shedding !== undefined;
    const onAdopted = ({ shedding }: PickerPlan): void => {
      this.#sheds = shedding !== undefined;
      this.#promotion?.fail('the configuration in charge has changed');
    };
    this.subscribers = [this.#canary, { onAdopted }];
  }

  start(picker: EndpointPicker, shadows: readonly Shadow[]): Promotion {
    const { rule, clock, log } = this.#options;
    this.#promotion = new Promotion({
      challenger: this.#challengerOf(picker),
      evidenceOf: (name) => evidenceFrom(shadows.find((shadow) => shadow.status().name === name)),
      rule,
      clock,
      onEvent: ({ what, ...event }) =>
        what === 'demoted' ? log.warn(event, 'shadow demoted') : log.info(event, 'shadow promoted'),
      onWaiting: (waitsFor) =>
        log.info({ shadow: rule?.shadow, waitsFor }, 'the promotion rule waits'),
      onRuleEnded: (why) =>
        log.warn(
          { shadow: rule?.shadow, why },
          'the promotion rule has ended, until the picker starts again',
        ),
    });
    return this.#promotion;
  }

  /** Lets the plan of a shadow decide in the picker. */
  #challengerOf(picker: EndpointPicker): ChallengerControl {
    const { plans } = this.#options;
    const canary = this.#canary;
    const thrownBy = (name: string, request: InferenceRequest, error: unknown): void => {
      canary.fallBack(request);
      // One that is promoted no more still decides what it has prepared.
      if (this.#promotion?.promoted?.shadow !== name) return;
      this.#promotion.fail(`its scheduler threw: ${messageOf(error)}`);
    };
    return {
      start: (name) => {
        const plan = plans.get(name);
        if (plan === undefined) throw new HttpError(404, unknownShadow(name, [...plans.keys()]));
        // With flow control, requests have waited until there is room.
        const challenging = this.#sheds ? withShedding(plan) : plan;
        picker.challenge(challenging, {
          name,
          takes: canary.takes,
          onThrown: (request, error) => thrownBy(name, request, error),
        });
        canary.begin();
      },
      setShare: (percent) => canary.setShare(percent),
      withdraw: () => {
        canary.setShare(undefined);
        picker.withdraw();
      },
      outcomes: () => canary.outcomes(),
    };
  }
}

/** The actions of the admin port. */
export function promotionActions(
  promotion: Promotion,
): ReadonlyMap<string, (query: URLSearchParams) => unknown> {
  const promote = (query: URLSearchParams): PromotionStatus => {
    const shadow = query.get('shadow');
    const percent = query.get('percent');
    if (shadow === null || percent === null) {
      const missing = shadow === null ? 'shadow' : 'percent';
      throw new HttpError(400, `${missing} is missing: use /promote?shadow=<name>&percent=5`);
    }
    if (percent.trim() === '' || !(Number(percent) >= 0 && Number(percent) <= 100)) {
      throw new HttpError(400, `percent is ${percent}; it must be a number from 0 to 100`);
    }
    promotion.promote(shadow, Number(percent));
    return promotion.status();
  };
  const demote = (): PromotionStatus => {
    promotion.demote();
    return promotion.status();
  };
  return new Map([
    ['/promote', promote],
    ['/demote', demote],
  ]);
}

/** Reads a rule as YAML or JSON. `plans` has the shadows that it may name. Throws ConfigError. */
export function readPromotionRule(
  path: string,
  plans: ReadonlyMap<string, PickerPlan>,
): PromotionRule {
  const issue = (message: string, at: string): ConfigError =>
    new ConfigError(path, [{ path: at, message }]);
  const value = readYaml(readFollowed(path).toString('utf8'), path);
  const other = otherPurpose(value, { field: 'shadow', noun: 'promotion rule' });
  if (other !== undefined) throw issue(other, 'file');
  const parsed = promotionRule.safeParse(value);
  if (!parsed.success)
    throw new ConfigError(path, zodIssues(parsed.error, { schema: promotionRule }));
  const { shadow } = parsed.data;
  const plan = plans.get(shadow);
  if (plan === undefined) throw issue(unknownShadow(shadow, [...plans.keys()]), 'shadow');
  if (!plan.plugins.some(({ name }) => name === DEFAULT_PREFIX_PRODUCER)) {
    const why = `${shadow} has no prefix index, so its times to a first token cannot be predicted`;
    throw issue(`${why}; add ${DEFAULT_PREFIX_PRODUCER} to its plugins`, 'shadow');
  }
  return parsed.data;
}

function unknownShadow(name: string, names: readonly string[]): string {
  const known = names.length === 0 ? 'none; add one with --shadow' : names.join(', ');
  return `${name} is not a shadow of this picker; its shadows: ${known}`;
}

function evidenceFrom(shadow: Shadow | undefined): ShadowEvidence | undefined {
  const { parity, restarts = 0 } = shadow?.status() ?? {};
  if (parity === undefined) return undefined;
  const { replacement, all, gain } = parity;
  return { gain, faults: all.disputed, undecided: replacement?.undecided, restarts };
}
