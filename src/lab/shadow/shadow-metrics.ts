import { Gauge, type Registry } from 'prom-client';
import { type ParityFigures, parityFigures } from './parity-figures.ts';
import type { Shadow, ShadowStatus } from './start-shadow.ts';

/** Gauges, because a shadow that is started anew begins at nothing. */
const GAUGES: readonly (readonly [string, string, (status: ShadowStatus) => number])[] = [
  ['up', 'Whether the shadow runs.', ({ running }) => (running ? 1 : 0)],
  ['decisions', 'Decisions it has made.', ({ parity }) => parity?.all.decisions ?? 0],
  ['agreed', 'Of these, those for the same endpoint.', ({ parity }) => parity?.all.agreed ?? 0],
  [
    'agreed_in_best_three',
    'Decisions whose endpoint is among the shadow’s best three.',
    ({ parity }) => parity?.all.placed.slice(0, 3).reduce((sum, each) => sum + each, 0) ?? 0,
  ],
  [
    'predicted_ttft_gain_ms',
    'By how much its picks are predicted to answer sooner, on average over what was predicted.',
    (status) => 0 - (figuresOf(status)?.ttftDifferenceMs ?? 0),
  ],
  [
    'regret_ms',
    'By how much later than at the best endpoint its picks are predicted to answer, on average.',
    (status) => figuresOf(status)?.shadowRegretMs ?? 0,
  ],
  [
    'primary_regret_ms',
    'The same of what was done, by the shadow’s model.',
    (status) => figuresOf(status)?.primaryRegretMs ?? 0,
  ],
  [
    'observed_over_predicted',
    'Times to first tokens as they came over those its model predicted; not a number before the first.',
    (status) => figuresOf(status)?.observedOverPredicted ?? Number.NaN,
  ],
  ['restarts', 'Times it had to be started anew.', ({ restarts }) => restarts],
  [
    'undecided',
    'Requests that a scheduler in another process, or a module, gave no answer to that counts.',
    ({ parity }) => parity?.replacement?.undecided ?? 0,
  ],
  ['dropped', 'Records it was not told.', ({ dropped }) => dropped],
];

function figuresOf({ parity }: ShadowStatus): ParityFigures | undefined {
  return parity && parityFigures(parity.all);
}

/** Puts the shadows on the picker's page; nothing where there are none. */
export function registerShadowMetrics(registry: Registry, shadows: readonly Shadow[]): void {
  if (shadows.length === 0) return;
  for (const [name, help, read] of GAUGES) {
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
