import { expect, test } from 'vitest';
import { planFromPlugins } from '../../catalogue/plan.ts';
import type { HttpTlsParameters } from '../../plugins/parameters/http-tls.ts';
import { type ScrapeFlags, unverifiedSources, withScrapeFlags } from './scrape-options.ts';

const configOf = (parameters: string): string => `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- { type: queue-scorer }
- { type: metrics-data-source, parameters: ${parameters} }
- { type: core-metrics-extractor }
dataLayer:
  sources: [{ pluginRef: metrics-data-source, extractors: [{ pluginRef: core-metrics-extractor }] }]
`;

async function parametersWith(flags: ScrapeFlags, parameters = '{}'): Promise<unknown> {
  const plan = await planFromPlugins('default', [], { text: configOf(parameters) });
  const { plugins } = withScrapeFlags(plan, flags);
  return plugins.find(({ name }) => name === 'metrics-data-source')?.config;
}

const FORMER: ScrapeFlags = {
  scrapeIntervalMs: 100,
  scrapeScheme: 'https',
  scrapePath: '/metricz',
  scrapePort: 9400,
  scrapeSkipVerify: 'true',
};

test('[D95] flags about metrics pages give the parameters that a configuration leaves out', async () => {
  const given = { interval: 100, scheme: 'https', path: '/metricz', port: 9400 };
  expect(await parametersWith(FORMER)).toMatchObject({ ...given, insecureSkipVerify: true });
});

test('[D95] and not those that it has', async () => {
  const own = '{ interval: 70ms, path: /own, port: 9500 }';
  const wanted = { interval: 70, scheme: 'https', path: '/own', port: 9500 };
  expect(await parametersWith(FORMER, own)).toMatchObject(wanted);
});

test.each<[ScrapeFlags, string, boolean | undefined]>([
  [{ asReference: true, scrapeScheme: 'https' }, '{}', true],
  [{ asReference: true }, '{ scheme: https }', true],
  [{ asReference: true }, '{ scheme: http }', undefined],
  [{ asReference: true }, '{ scheme: https, insecureSkipVerify: false }', false],
  [{ asReference: true }, '{ scheme: https, caCertPath: /ca.crt }', undefined],
  [{ asReference: true }, '{ scheme: https, serverName: engine }', undefined],
  [{ asReference: true, scrapeSkipVerify: 'false' }, '{ scheme: https }', false],
  [{ scrapeScheme: 'https' }, '{}', undefined],
])('[D628] with %o and %s certificates are left unverified: %s', async (flags, own, skipped) => {
  const plan = await planFromPlugins('default', [], { text: configOf(own) });
  const flagged = withScrapeFlags(plan, flags);
  const source = flagged.plugins.find(({ name }) => name === 'metrics-data-source');
  const config = source?.config as HttpTlsParameters | undefined;
  expect(config?.insecureSkipVerify).toBe(skipped);
  expect(unverifiedSources(flagged)).toEqual(skipped === true ? ['metrics-data-source'] : []);
});

test('an interval below 10 ms is 10 ms', async () => {
  expect(await parametersWith({ scrapeIntervalMs: 1 })).toMatchObject({ interval: 10 });
});

test('without such flags a plan stays as it is', async () => {
  const plan = await planFromPlugins('default', []);
  expect(withScrapeFlags(plan, {})).toBe(plan);
});
