import type { Registry } from 'prom-client';
import { type MetricSample, showMetric } from '../../journal/metrics/page/family.ts';
import { Reloads } from '../../journal/metrics/process/reloads.ts';

/** Counts reloads of the configuration file, also under the names of the reference. */
export function registerReloads(registry: Registry, adoptedAtMs: () => number): Reloads {
  const reloads = new Reloads({
    registry,
    name: 'pointsman_config_reloads_total',
    help: 'Changes of the configuration file, adopted or refused.',
  });
  const gauge = (name: string, help: string, read: () => number): void =>
    showMetric(registry, { name, help, type: 'gauge' }, () => [{ labels: {}, value: read() }]);
  gauge(
    'pointsman_config_last_reload_successful',
    'Whether the current content of the configuration file decides (1) or was refused (0).',
    () => (reloads.lastError === undefined ? 1 : 0),
  );
  gauge(
    'llm_d_epp_config_active_generation',
    '[ALPHA] Which content of the configuration file decides: 1 at the start, then counted.',
    () => 1 + reloads.counts.adopted,
  );
  gauge(
    'llm_d_epp_config_last_reload_success_timestamp_seconds',
    '[ALPHA] When a changed configuration file was adopted, in Unix time; 0 until then.',
    () => adoptedAtMs() / 1000,
  );
  const by = 'llm_d_epp_config_reload_total';
  const help = '[ALPHA] Changes of the configuration file, by result.';
  showMetric(registry, { name: by, help, type: 'counter' }, () => byResult(reloads));
  return reloads;
}

function byResult({ counts }: Reloads): readonly MetricSample[] {
  return [
    { labels: { result: 'success' }, value: counts.adopted },
    { labels: { result: 'invalid' }, value: counts.refused },
  ];
}
