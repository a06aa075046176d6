import { describe, expect, it } from 'vitest';
import { makeEndpoint, makeRequest, makeRouted } from '../../../../test/makers.ts';
import { PickerMetrics } from '../metrics.ts';
import { metricsSubscriber } from '../metrics-subscriber.ts';
import { showMetric } from './family.ts';

const usage = { promptTokens: 600, completionTokens: 11, cachedTokens: 0 };

describe('the metrics page', () => {
  it('[V77] shows no more lines than the limit, whatever names and labels clients invent', async () => {
    const metrics = new PickerMetrics({ linesMax: 5000 });
    const observer = metricsSubscriber(metrics);
    const before = (await metrics.page()).split('\n').length;
    for (let index = 0; index < 2000; index++) {
      const request = makeRequest({
        model: `m${index}`,
        fairnessId: `f${index % 99}`,
        priority: index,
      });
      const routed = makeRouted(makeEndpoint('a'), { request });
      observer.onRouted?.(routed);
      observer.onFirstToken?.(routed, 10);
      observer.onDone?.(routed, 20, 'completed', usage, 100);
      metrics.decisions.attempt(`m${index}`, makeEndpoint(`pod-${index % 20}`));
      metrics.decisions.rewrite('rule', `m${index}`, 't');
    }
    const page = await metrics.page();
    // The two series of `other` come on top.
    expect(page.split('\n').length - before).toBeLessThan(5000 + 400);
    const folded = /pointsman_metrics_folded_total\{kind="requests"\} (\d+)/.exec(page)?.[1];
    expect(Number(folded)).toBeGreaterThan(1900);
    const total = [...page.matchAll(/^llm_d_epp_request_total\{.*\} (\d+)$/gm)];
    expect(total.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(2000);
  });

  it('[V77] drops series that nothing has used for long, and then has room for others', async () => {
    let now = 0;
    const clock = { now: () => now };
    const metrics = new PickerMetrics({ linesMax: 1000, idleMs: 60_000, clock });
    const observer = metricsSubscriber(metrics);
    const route = (model: string) => {
      const routed = makeRouted(makeEndpoint('a'), { request: makeRequest({ model }) });
      observer.onRouted?.(routed);
      return routed;
    };
    const open = route('still-open');
    observer.onDone?.(route('idle'), 1, 'completed', undefined);
    now = 60_000;
    expect(await metrics.page()).toContain('model_name="idle"');
    now = 120_000;
    expect(await metrics.page()).not.toContain('model_name="idle"');
    expect(await metrics.page()).toContain('model_name="still-open"');
    observer.onDone?.(open, 1, 'completed', undefined);
    for (const model of ['a', 'b', 'c', 'd']) route(model);
    expect(await metrics.page()).toContain('model_name="other"');
    now = 300_000;
    await metrics.page();
    observer.onDone?.(route('later'), 1, 'completed', undefined);
    expect(await metrics.page()).toContain('model_name="later"');
  });

  it('[V77] scrapes at the same time share one page', async () => {
    const metrics = new PickerMetrics();
    let made = 0;
    showMetric(metrics.registry, { name: 'made', help: 'm', type: 'gauge' }, () => [
      { labels: {}, value: ++made },
    ]);
    const [one, other] = await Promise.all([metrics.pageBytes(), metrics.pageBytes()]);
    expect(one).toBe(other);
    await metrics.pageBytes();
    expect(made).toBe(2);
  });

  it('[V77] lets other work through while a page is made, and its text is that of prom-client', async () => {
    const metrics = new PickerMetrics();
    const observer = metricsSubscriber(metrics);
    for (let index = 0; index < 300; index++) {
      const model = `model "${index}"\\\n`;
      const routed = makeRouted(makeEndpoint('a'), { request: makeRequest({ model }) });
      observer.onRouted?.(routed);
      observer.onDone?.(routed, 7 * index, 'completed', usage, index);
    }
    let isMade = false;
    let turns = 0;
    const turn = (): void => {
      turns += 1;
      if (!isMade) setImmediate(turn);
    };
    setImmediate(turn);
    const page = await metrics.page();
    isMade = true;
    // A hundred thousand lines take longer than one slice on any machine.
    expect(turns).toBeGreaterThan(2);
    expect(page).toBe(await metrics.registry.metrics());
  });
});
