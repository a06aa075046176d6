import { describe, expect, test } from 'vitest';
import { planFromPlugins } from '../../catalogue/plan.ts';
import { metricsSource } from './metrics-source.ts';

describe('the interval of scrapes', () => {
  const configOf = (...plugins: readonly string[]): string => `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- { type: queue-scorer }
${plugins.map((plugin) => `- ${plugin}\n`).join('')}`;

  test.each<readonly [name: string, plugins: readonly string[], interval: unknown]>([
    ['adaptive where the source is not named', [], 'adaptive'],
    ['50 ms where it is named', ['{ type: metrics-data-source }'], 50],
    [
      '50 ms where samples are stale before idle endpoints are read again',
      ['{ type: utilization-detector, parameters: { metricsStalenessThreshold: 100ms } }'],
      50,
    ],
    ['adaptive with the usual threshold', ['{ type: utilization-detector }'], 'adaptive'],
    [
      'adaptive where it says so',
      ['{ type: metrics-data-source, parameters: { interval: adaptive } }'],
      'adaptive',
    ],
  ])('[B154] a configuration’s is %s', async (_, plugins, interval) => {
    const plan = await planFromPlugins('default', [], { text: configOf(...plugins) });
    const source = plan.plugins.find(({ definition }) => definition.type === metricsSource.type);
    expect(source?.config).toMatchObject({ interval });
  });

  test('[B154] the reference’s configuration has its 50 ms', async () => {
    const plan = await planFromPlugins('reference-default', []);
    const source = plan.plugins.find(({ definition }) => definition.type === metricsSource.type);
    expect(source?.config).toMatchObject({ interval: 50 });
  });
});
