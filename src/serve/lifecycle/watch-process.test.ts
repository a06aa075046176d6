import { collectDefaultMetrics, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { registerGoMemory } from '../../journal/metrics/process/go-memory.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { showProcess } from '../../runtime/prom-client.ts';
import { watchProcess } from './watch-process.ts';

it('[D363] shows its memory by the names of Go programs, too, as Node counts it', async () => {
  const registry = new Registry();
  const memory = { rss: 9, heapTotal: 5, heapUsed: 3, external: 2, arrayBuffers: 1 };
  registerGoMemory(registry, () => memory);
  const page = await registry.metrics();
  const values = [...page.matchAll(/^go_memstats_(\w+) (\d+)$/gm)].map(([, name, value]) => [
    name,
    Number(value),
  ]);
  expect(Object.fromEntries(values)).toEqual({
    alloc_bytes: 3,
    heap_alloc_bytes: 3,
    heap_inuse_bytes: 3,
    heap_sys_bytes: 5,
    sys_bytes: 7,
  });
});

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
      'go_memstats_heap_alloc_bytes',
    ]) {
      expect(page).toContain(`\n${name} `);
    }
    expect(watch.trouble()).toBeUndefined();
  } finally {
    watch.stop();
  }
});

it('[P52] shows of a process what prom-client shows by default', async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  showProcess(ours);
  collectDefaultMetrics({ register: theirs });
  const about = async (registry: Registry): Promise<readonly string[]> =>
    (await registry.getMetricsAsJSON()).map(({ name, type, help }) => `${type} ${name}: ${help}`);
  const shown = await about(ours);
  expect(shown.toSorted()).toEqual((await about(theirs)).toSorted());
});

it('[P52] counts its CPU time on', async () => {
  const registry = new Registry();
  showProcess(registry);
  const read = async (): Promise<number> => {
    const metric = await registry.getSingleMetric('process_cpu_seconds_total')?.get();
    return metric?.values[0]?.value ?? Number.NaN;
  };
  const before = await read();
  for (let turn = 0; turn < 1e6; turn++) Math.sqrt(turn);
  expect(await read()).toBeGreaterThan(before);
});
