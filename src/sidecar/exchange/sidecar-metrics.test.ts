import { expect, it } from 'vitest';
import { SidecarMetrics } from './sidecar-metrics.ts';

it.each([
  ['prefill', 'nixlv2'],
  ['encode', 'ec-nixl'],
] as const)(
  'shows how long a stage took, in seconds and by its connector: %s',
  async (stage, connector) => {
    const metrics = new SidecarMetrics({
      openRequests: () => 2,
      bufferedBytes: () => 700,
      connector: 'nixlv2',
      ecConnector: 'ec-nixl',
    });
    for (const durationMs of [250, 1500]) metrics.onDuration(stage, durationMs);
    const page = await metrics.registry.metrics();
    const family = `llm_d_disagg_sidecar_${stage}_duration_seconds`;
    expect(page).toContain(`${family}_sum{connector="${connector}"} 1.75\n`);
    expect(page).toContain(`${family}_count{connector="${connector}"} 2\n`);
    expect(page).toContain('pointsman_sidecar_open_requests 2\n');
    expect(page).toContain('pointsman_sidecar_buffered_bytes 700\n');
  },
);
