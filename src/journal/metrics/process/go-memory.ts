import type { Registry } from 'prom-client';
import { showMetric } from '../page/family.ts';

type Read = (memory: NodeJS.MemoryUsage) => number;

/** The names by which dashboards ask Go programs for their memory, where Node has the same. */
const GAUGES: readonly (readonly [name: string, help: string, read: Read])[] = [
  ['go_memstats_alloc_bytes', 'Bytes of objects on the heap.', (of) => of.heapUsed],
  ['go_memstats_heap_alloc_bytes', 'Bytes of objects on the heap.', (of) => of.heapUsed],
  ['go_memstats_heap_inuse_bytes', 'Bytes of objects on the heap.', (of) => of.heapUsed],
  ['go_memstats_heap_sys_bytes', 'Bytes that the heap has of the system.', (of) => of.heapTotal],
  [
    'go_memstats_sys_bytes',
    'Bytes of the heap, and of buffers beside it.',
    (of) => of.heapTotal + of.external,
  ],
];

/** Shows the memory of this process under the names of Go's client library, too. */
export function registerGoMemory(registry: Registry, read: () => NodeJS.MemoryUsage): void {
  for (const [name, help, from] of GAUGES) {
    showMetric(registry, { name, help, type: 'gauge' }, () => [
      { labels: {}, value: from(read()) },
    ]);
  }
}
