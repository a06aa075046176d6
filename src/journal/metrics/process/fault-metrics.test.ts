import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { PluginFaults } from '../../../picker/faults/plugin-faults.ts';
import { registerFaultMetrics } from './fault-metrics.ts';

it('[V31] counts the failures of each call of each plugin', async () => {
  const registry = new Registry();
  const faults = new PluginFaults();
  registerFaultMetrics(registry, faults);
  const scorer = {};
  faults.identify(scorer, { kind: 'scorer', name: 'my-queue' });
  for (let n = 0; n < 3; n++) faults.report(scorer, 'score', new Error('broken on purpose'));
  faults.report(scorer, 'timer', 'not even an error');
  const page = await registry.metrics();
  expect(page).toContain(
    'pointsman_plugin_faults_total{plugin_kind="scorer",plugin_name="my-queue",call="score"} 3\n',
  );
  expect(page).toContain('call="timer"} 1\n');
});
