import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { serveOptions } from '../../bench/support/stack.ts';
import { configFileOf } from '../../src/catalogue/plan.ts';
import { startServe } from '../../src/serve/serve.ts';
import { expectNoFault } from '../house/faults.ts';
import { fetchPromtool } from '../support/programs/promtool.ts';
import { documentedMetrics } from './metric-names.ts';

/**
 * The Grafana dashboard queries only metrics that a running picker exports, according to their
 * types.
 */

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string }[];
}

const file = join(
  import.meta.dirname,
  '../../deploy/helm/pointsman/files/dashboard/pointsman.json',
);
const { panels } = JSON.parse(readFileSync(file, 'utf8')) as { readonly panels: readonly Panel[] };
const plots = panels.filter(({ type }) => type !== 'row');
const queries = plots.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ title, expr })),
);
/** The name of a metric is in front of its selector. */
const namesIn = (expr: string): readonly string[] =>
  [...expr.matchAll(/([a-z0-9_]+)\{/g)].map(([, name = '']) => name);
const promtool = await fetchPromtool();

describe('the Grafana dashboard', () => {
  const exported = new Map<string, string>();
  let documented = '';

  beforeAll(async () => {
    // Flow control has metrics only where it is on.
    for (const path of ['../deploy/disaggregation.yaml', 'fixtures/guides/flow-control.yaml']) {
      const config = join(import.meta.dirname, '..', path);
      const configFile = await configFileOf(config, []);
      const options = serveOptions({ endpoints: ['127.0.0.1:1'], configFile }, config);
      const serving = await startServe(options);
      const page = await (await fetch(`http://127.0.0.1:${serving.metricsPort}/metrics`)).text();
      await serving.stop();
      for (const [, name = '', type = ''] of page.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
        exported.set(name, type);
      }
    }
    documented = readFileSync(join(import.meta.dirname, '../../docs/metrics.md'), 'utf8');
  });

  it('has a query in every panel, and a metric in every query', () => {
    expect(plots.length).toBeGreaterThan(15);
    expect(plots.filter(({ targets = [] }) => targets.length === 0)).toEqual([]);
    expect(queries.filter(({ expr }) => namesIn(expr).length === 0)).toEqual([]);
  });

  it('[T56] every metric of the page has a row in docs/metrics.md', () => {
    expect(exported.size).toBeGreaterThan(100);
    const known = documentedMetrics(documented);
    // Those of the process are prom-client's, and one row names them all.
    const own = [...exported.keys()].filter((name) => !/^(?:process|nodejs)_/.test(name));
    const missing = own.filter((name) => !known.has(name));
    expectNoFault(missing, 'write a row for each of these into docs/metrics.md');
  });

  it.each(queries)('$title: $expr', ({ expr }) => {
    for (const name of namesIn(expr)) {
      const family = name.replace(/_(?:bucket|sum|count)$/, '');
      const isHistogram = exported.get(family) === 'histogram' && family !== name;
      expect(isHistogram ? 'histogram' : exported.get(name), name).toBeDefined();
      expect(documented).toContain(`\`${family.replace(/^llm_d_epp_/, '')}\``);
      // Queries use counters as rates or increases, and gauges never.
      const isRate = ['rate', 'increase'].some((each) => expr.includes(`${each}(${name}{`));
      expect(isRate, name).toBe(exported.get(name) !== 'gauge');
    }
  });

  it.skipIf(promtool === undefined)('has only PromQL that promtool accepts', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pointsman-dashboard-'));
    const rules = queries.map(({ expr }, index) => ({
      record: `query_${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', '.*'),
    }));
    const path = join(folder, 'rules.yaml');
    // JSON is also YAML.
    writeFileSync(path, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    try {
      const { stdout } = await promisify(execFile)(promtool ?? '', ['check', 'rules', path]);
      expect(stdout).toContain(`SUCCESS: ${rules.length} rules found`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
