import { planFrom } from '../../src/catalogue/plan.ts';
import { withScrapeFlags } from '../../src/commands/options/scrape-options.ts';
import { telemetryFrom } from '../../src/commands/options/telemetry-options.ts';
import { limitYoungGeneration } from '../../src/runtime/process/young-generation.ts';
import type { ServeSettings } from '../../src/serve/options/serve-options.ts';
import { type Serving, startServe } from '../../src/serve/serve.ts';
import { parseOptions } from '../support/parse-options.ts';
import { serveOptions } from '../support/stack.ts';

/**
 * Two pickers in one process, of which one has a feature: the same compiled code, the same heap and
 * the same neighbours on the machine. Prints the ports of both once they serve.
 */

/** Scraping is the same for both, and would hide what a feature costs. */
const SCRAPE_INTERVAL_MS = 1000;
const SHARE_INTERVAL_MS = 50;

const { values } = parseOptions({
  options: {
    feature: { type: 'string', default: 'page' },
    endpoints: { type: 'string', default: '' },
    nats: { type: 'string', default: '' },
    key: { type: 'string', default: '' },
    'with-first': { type: 'boolean', default: false },
  },
});

function withFeature(): Partial<ServeSettings> {
  if (values.feature === 'tracing') {
    return telemetryFrom({ tracing: true, accessLog: false, observe: false }, process.env);
  }
  if (values.feature !== 'sharing') return {};
  const key = Buffer.from(values.key);
  return {
    replicas: {
      id: 'measured',
      intervalMs: SHARE_INTERVAL_MS,
      servers: values.nats,
      subject: 'pointsman.toggle',
      key,
    },
  };
}

limitYoungGeneration(process.execArgv);
const endpoints = values.endpoints.split(',');
const start = (more: Partial<ServeSettings>): Promise<Serving> => {
  const plan = withScrapeFlags(planFrom('default'), { scrapeIntervalMs: SCRAPE_INTERVAL_MS });
  return startServe(serveOptions({ endpoints, plan, ...more }));
};
// The second picker of a process is dearer than the first, whatever it does.
const early = values['with-first'] ? await start(withFeature()) : undefined;
const without = await start({});
// A viewer comes and goes: the feature needs no picker of its own.
const having = values.feature === 'page' ? without : (early ?? (await start(withFeature())));
const { extProcPort, metricsPort } = having;
const ports = { without: without.extProcPort, with: extProcPort, metricsPort };
process.stdout.write(`${JSON.stringify(ports)}\n`);
const stop = (): void => process.exit(0);
process.once('SIGTERM', stop);
process.once('SIGINT', stop);
