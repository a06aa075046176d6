import { Gauge, type Registry } from '../runtime/prom-client.ts';
import type { ArmReport } from './arm-tally.ts';
import type { Promotion } from './promotion.ts';
import type { PromotionCondition } from './promotion-conditions.ts';

/** Puts the share of a promoted shadow and the outcomes of both arms on the metrics page. */
export function registerPromotionMetrics(registry: Registry, promotion: Promotion): void {
  registerShare(registry, promotion);
  registerArms(registry, promotion);
  registerUndecided(registry, promotion);
  registerConditions(registry, promotion);
}

function registerShare(registry: Registry, promotion: Promotion): void {
  new Gauge({
    name: 'pointsman_promotion_percent',
    help: 'Percentage of requests that a promoted shadow decides.',
    labelNames: ['shadow'],
    registers: [registry],
    collect() {
      this.reset();
      const { shadow, percent } = promotion.status();
      if (shadow !== undefined) this.set({ shadow }, percent);
    },
  });
}

function registerArms(registry: Registry, promotion: Promotion): void {
  const arms = (name: string, help: string, read: (arm: ArmReport) => number | undefined): void => {
    new Gauge({
      name: `pointsman_promotion_${name}`,
      help,
      labelNames: ['arm'],
      registers: [registry],
      collect() {
        this.reset();
        const { challenger, incumbent } = promotion.status().outcomes;
        for (const [arm, report] of Object.entries({ challenger, incumbent })) {
          const value = read(report);
          if (value !== undefined) this.set({ arm }, value);
        }
      },
    });
  };
  arms(
    'requests',
    'Requests that have ended since the last change of the share.',
    (a) => a.requests,
  );
  arms('failed', 'Requests that failed or were refused.', (a) => a.failed);
  arms(
    'aborted',
    'Requests that clients aborted before an answer; not among those that have ended.',
    (a) => a.aborted,
  );
  arms(
    'latency_mean_ms',
    'Mean time to the first token or until clients gave up, with the wait at the picker; not there before the first of them.',
    ({ latency }) => (latency.count === 0 ? undefined : latency.meanMs),
  );
  arms('waited_mean_ms', 'What of that mean was waiting at the picker.', ({ latency }) =>
    latency.count === 0 ? undefined : latency.waitedMs,
  );
}

/** Nothing where profiles decide all requests, as they do without a scheduler in their place. */
function registerUndecided(registry: Registry, promotion: Promotion): void {
  new Gauge({
    name: 'pointsman_promotion_undecided',
    help: 'Requests that the scheduler left to the profiles of its configuration, by reason.',
    labelNames: ['arm', 'reason'],
    registers: [registry],
    collect() {
      this.reset();
      const { challenger, incumbent } = promotion.status().outcomes;
      for (const [arm, { undecided }] of Object.entries({ challenger, incumbent })) {
        for (const [reason, count] of Object.entries(undecided)) this.set({ arm, reason }, count);
      }
    },
  });
}

/** One line for each condition of the rule; none while no rule is active. */
function registerConditions(registry: Registry, promotion: Promotion): void {
  const gauge = (
    name: string,
    help: string,
    read: (condition: PromotionCondition) => number,
  ): void => {
    new Gauge({
      name: `pointsman_promotion_condition_${name}`,
      help,
      labelNames: ['condition'],
      registers: [registry],
      collect() {
        this.reset();
        for (const each of promotion.status().conditions) {
          this.set({ condition: each.name }, read(each));
        }
      },
    });
  };
  gauge('met', '1 for a condition of the rule that is met, else 0.', ({ met }) => (met ? 1 : 0));
  gauge('value', 'What there is; of the gain the lower end in percent.', ({ value }) => value);
  gauge('needed', 'What the rule asks for; of faults the most.', ({ needed }) => needed);
}
