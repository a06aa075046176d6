import { Gauge, type Registry } from 'prom-client';
import type { Shadow, ShadowStatus } from './start-shadow.ts';

/** Gauges, because a shadow that is started anew begins at nothing. */
const GAUGES: readonly (readonly [string, string, (status: ShadowStatus) => number])[] = [
  ['up', 'Whether the shadow runs.', ({ running }) => (running ? 1 : 0)],
  ['decisions', 'Decisions it has made.', ({ parity }) => parity?.all.decisions ?? 0],
  ['agreed', 'Of these, those for the same endpoint.', ({ parity }) => parity?.all.agreed ?? 0],
  [
    'predicted_ttft_gain_ms',
    'By how much its picks are predicted to answer sooner, on average over what was predicted.',
    ({ parity }) => {
      const { predicted = 0, primaryTtftMs = 0, shadowTtftMs = 0 } = parity?.all ?? {};
      return predicted === 0 ? 0 : (primaryTtftMs - shadowTtftMs) / predicted;
    },
  ],
  ['restarts', 'Times it had to be started anew.', ({ restarts }) => restarts],
  [
    'undecided',
    'Requests that a scheduler in another process, or a module, gave no answer to that counts.',
    ({ parity }) => parity?.replacement?.undecided ?? 0,
  ],
  ['dropped', 'Records it was not told.', ({ dropped }) => dropped],
];

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
