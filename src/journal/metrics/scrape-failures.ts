import { Counter, type Registry } from 'prom-client';

/** Puts failed scrapes on the metrics page. The returned function counts one. */
export function scrapeFailureCounter(
  registry: Registry,
  reasons: readonly string[],
): (reason: string) => void {
  const counter = new Counter({
    name: 'pointsman_scrape_failures_total',
    help: 'Scrapes of endpoints that failed, by reason.',
    labelNames: ['reason'],
    registers: [registry],
  });
  for (const reason of reasons) counter.inc({ reason }, 0);
  return (reason) => counter.inc({ reason });
}
