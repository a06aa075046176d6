import { createRequire } from 'node:module';
import type * as Whole from 'prom-client';

/**
 * Loads one file of prom-client, in place of its entry, which also loads a client that pushes
 * metrics, with Node's HTTPS, and OpenTelemetry's interface: a seventh of the start. The package
 * promises nothing about its files, and they have no types: package.json names an exact version,
 * and the test beside this file compares what is taken here with what the entry gives. Where an
 * update fails there, correct the paths below and `PROCESS_METRICS`.
 */
const part = createRequire(import.meta.url);

export const Registry: typeof Whole.Registry = part('prom-client/lib/registry.js');
export const Counter: typeof Whole.Counter = part('prom-client/lib/counter.js');
export const Gauge: typeof Whole.Gauge = part('prom-client/lib/gauge.js');
export const Histogram: typeof Whole.Histogram = part('prom-client/lib/histogram.js');

export type Registry = Whole.Registry;
export type Counter<Label extends string = string> = Whole.Counter<Label>;
export type Histogram<Label extends string = string> = Whole.Histogram<Label>;

/** All that prom-client shows of a process by default, but for its CPU: that loads the interface. */
const PROCESS_METRICS = [
  'processStartTime',
  'osMemoryHeap',
  'processOpenFileDescriptors',
  'processMaxFileDescriptors',
  'eventLoopLag',
  'processResources',
  'processHandles',
  'processRequests',
  'heapSizeAndUsed',
  'heapSpacesSizeAndUsed',
  'version',
  'gc',
] as const;

/** As prom-client's own default. */
const LOOP_DELAY_RESOLUTION_MS = 10;

type ShowMetrics = (registry: Registry, options: object) => void;

/** Shows this process on the page by the names of prom-client's default metrics. */
export function showProcess(registry: Registry): void {
  showCpu(registry);
  for (const name of PROCESS_METRICS) {
    const show = part(`prom-client/lib/metrics/${name}.js`) as ShowMetrics;
    show(registry, { eventLoopMonitoringPrecision: LOOP_DELAY_RESOLUTION_MS });
  }
}

/** Seconds since this call, as of each look at the page. */
function showCpu(registry: Registry): void {
  const start = process.cpuUsage();
  const show = (kind: string, what: string, microsOf: (used: NodeJS.CpuUsage) => number): void => {
    let shown = 0;
    new Counter({
      name: `process_cpu_${kind}seconds_total`,
      help: `Total ${what} CPU time spent in seconds.`,
      registers: [registry],
      collect() {
        const seconds = microsOf(process.cpuUsage(start)) / 1e6;
        this.inc(seconds - shown);
        shown = seconds;
      },
    });
  };
  show('user_', 'user', ({ user }) => user);
  show('system_', 'system', ({ system }) => system);
  show('', 'user and system', ({ user, system }) => user + system);
}
