import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { watchProcess } from './watch-process.ts';

it('[V79] puts the process and its event loop on the metrics page', async () => {
  const registry = new Registry();
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const watch = watchProcess({ log }, { registry, clock: new SimulatedClock() });
  try {
    const page = await registry.metrics();
    for (const name of [
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'nodejs_heap_size_used_bytes',
      'pointsman_event_loop_late',
    ]) {
      expect(page).toContain(`\n${name} `);
    }
    expect(watch.trouble()).toBeUndefined();
  } finally {
    watch.stop();
  }
});
