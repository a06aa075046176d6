import { WHYS } from '../redecide/observed-differences.ts';
import { Gauge, type Registry } from '../runtime/prom-client.ts';
import { type ParityFigures, parityFigures } from './parity-figures.ts';
import type { Shadow, ShadowStatus } from './start-shadow.ts';

/** Layout: name, help, value. Gauges, because a restarted shadow begins at 0. */
export const SHADOW_GAUGES: readonly (readonly [
  name: string,
  help: string,
  read: (status: ShadowStatus) => number,
])[] = [
  ['up', 'Whether the shadow runs.', ({ running }) => (running ? 1 : 0)],
  ['decisions', 'Decisions it has made.', ({ parity }) => parity?.all.decisions ?? 0],
  ['agreed', 'Decisions for the same endpoint.', ({ parity }) => parity?.all.agreed ?? 0],
  [
    'agreed_in_best_three',
    'Decisions whose endpoint is among the shadow’s best three.',
    ({ parity }) => parity?.all.placed.slice(0, 3).reduce((sum, each) => sum + each, 0) ?? 0,
  ],
  [
    'predicted_ttft_gain_ms',
    'How much sooner its picks are predicted to answer, on average over decisions with a prediction.',
    (status) => 0 - (figuresOf(status)?.ttftDifferenceMs ?? 0),
  ],
  [
    'regret_ms',
    'How much later than at the best endpoint its picks are predicted to answer, on average.',
    (status) => figuresOf(status)?.shadowRegretMs ?? 0,
  ],
  [
    'primary_regret_ms',
    'The same for the picks that were carried out, predicted by the shadow’s model.',
    (status) => figuresOf(status)?.primaryRegretMs ?? 0,
  ],
  [
    'observed_over_predicted',
    'Observed times to first tokens over those that its model predicted; NaN before the first.',
    (status) => figuresOf(status)?.observedOverPredicted ?? Number.NaN,
  ],
  ['restarts', 'Restarts of the shadow.', ({ restarts }) => restarts],
  [
    'undecided',
    'Requests that its replacement scheduler declined, so that the profiles decided.',
    ({ parity }) => parity?.replacement?.undecided ?? 0,
  ],
  [
    'own_decisions',
    'Decisions that it made itself, promoted; they are not compared.',
    ({ parity }) => parity?.ownDecisions ?? 0,
  ],
  ['dropped', 'Records that it did not receive.', ({ dropped }) => dropped],
  ['waiting', 'Records that it has not processed yet.', ({ waiting }) => waiting],
];

function figuresOf({ parity }: ShadowStatus): ParityFigures | undefined {
  return parity && parityFigures(parity.all);
}

/** Puts the shadows on the metrics page; nothing where there are none. */
export function registerShadowMetrics(registry: Registry, shadows: readonly Shadow[]): void {
  if (shadows.length === 0) return;
  registerExplained(registry, shadows);
  for (const [name, help, read] of SHADOW_GAUGES) {
    const gauge = new Gauge({
      name: `pointsman_shadow_${name}`,
      help,
      labelNames: ['shadow'],
      registers: [registry],
      collect: () => {
        for (const shadow of shadows) {
          const status = shadow.status();
          gauge.set({ shadow: status.name }, read(status));
        }
      },
    });
  }
}

/** Decisions of an observed picker by why they differ, and what picks at random would be. */
const EXPLAINED = [
  ['why', 'explained', 'Decisions of the observed picker that were looked at, by why they differ.'],
  ['drawn', 'explained_at_random', 'The same for a pick at random in the place of each.'],
] as const;

function registerExplained(registry: Registry, shadows: readonly Shadow[]): void {
  for (const [field, name, help] of EXPLAINED) {
    const gauge = new Gauge({
      name: `pointsman_shadow_${name}`,
      help,
      labelNames: ['shadow', 'why'],
      registers: [registry],
      collect: () => {
        for (const shadow of shadows) {
          const { name: called, parity } = shadow.status();
          const counts = parity?.explained?.[field];
          if (counts === undefined) continue;
          for (const why of WHYS) gauge.set({ shadow: called, why }, counts[why]);
        }
      },
    });
  }
}
