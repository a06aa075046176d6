import * as whole from 'prom-client';
import { expect, it } from 'vitest';
import { Counter, Gauge, Histogram, Registry, showProcess } from './prom-client.ts';

it('[T80] takes the classes that the entry of prom-client has', () => {
  expect([Registry, Counter, Gauge, Histogram]).toEqual([
    whole.Registry,
    whole.Counter,
    whole.Gauge,
    whole.Histogram,
  ]);
});

it('[T80] shows of a process what prom-client shows by default', async () => {
  const [ours, theirs] = [new Registry(), new whole.Registry()];
  showProcess(ours);
  whole.collectDefaultMetrics({ register: theirs });
  const described = async (registry: whole.Registry): Promise<readonly object[]> => {
    const metrics = await registry.getMetricsAsJSON();
    return metrics
      .map(({ name, help, type }) => ({ name, help, type }))
      .toSorted((a, b) => a.name.localeCompare(b.name));
  };
  expect(await described(ours)).toEqual(await described(theirs));
});
