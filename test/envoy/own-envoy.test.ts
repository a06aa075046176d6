import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Document, parse, parseDocument } from 'yaml';
import { envoyBinary } from '../../bench/support/stack.ts';
import { diagnose } from '../../src/doctor/diagnose.ts';
import { readSetup } from '../../src/doctor/envoy-setup.ts';
import type { Finding } from '../../src/doctor/finding.ts';
import { EARLY_PICK_BYTES } from '../../src/extproc/session/session-rules.ts';
import { startEnvoy } from '../../src/lab/envoy/run-envoy.ts';
import { codeBlock } from '../docs/doc-code.ts';
import { LiveStack } from '../support/programs/live-stack.ts';

/**
 * An Envoy that divides requests itself gets a picker, by what README.md says and by the doctor.
 */

const binary = await envoyBinary();
const OWN = readFileSync(join(import.meta.dirname, '../fixtures/own-envoy.yaml'), 'utf8');
const MANAGER = 'static_resources listeners 0 filter_chains 0 filters 0 typed_config'.split(' ');
const FILTERS = [...MANAGER, 'http_filters'];
const ROUTE = [...MANAGER, 'route_config', 'virtual_hosts', '0', 'routes', '1', 'route'];
const CLUSTERS = ['static_resources', 'clusters'];
/** Beside its configuration Envoy says that it has found the picker. */
const FOUND = { stats: [{ name: 'cluster.ext_proc.membership_total', value: 1 }] };
const STATE = { info: {}, stats: FOUND, certs: {} };

const fromReadme = (containing: string): readonly unknown[] =>
  parse(codeBlock('README.md', 'yaml', containing)) as readonly unknown[];

describe.skipIf(binary === undefined)('an Envoy of one’s own', () => {
  let stack: LiveStack;
  beforeAll(async () => {
    stack = await LiveStack.start();
  });
  afterAll(() => stack?.stop());

  function withFilter(): Document {
    const config = parseDocument(OWN);
    const router = config.getIn([...FILTERS, 0], true);
    const [filter] = fromReadme('ext_proc.v3.ExternalProcessor');
    config.setIn(FILTERS, [filter, router]);
    return config;
  }

  async function asked(config: Document): Promise<{
    readonly status: number;
    readonly findings: readonly Finding[];
  }> {
    const configYaml = config
      .toString()
      .replaceAll('port_value: 9002', `port_value: ${stack.serving.extProcPort}`);
    const envoy = await startEnvoy({ binary: binary ?? '', configYaml, log: () => undefined });
    try {
      const url = `http://127.0.0.1:${envoy.listenerPort}/v1/completions`;
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ model: 'stub-model', prompt: 'hello', max_tokens: 2 });
      const response = await fetch(url, { method: 'POST', headers, body });
      await response.text();
      const dump = await fetch(`http://127.0.0.1:${envoy.adminPort}/config_dump`);
      const setup = readSetup(await dump.json());
      const findings = diagnose({
        envoys: [{ at: 'here', setup, ...STATE }],
        clocks: [],
        earlyPickBytes: EARLY_PICK_BYTES,
        nowMs: Date.now(),
      });
      const errors = findings.filter(({ severity }) => severity === 'error');
      return { status: response.status, findings: errors };
    } finally {
      await envoy.stop();
    }
  }

  it('[O203] goes where the picker says once it has the lines of README.md', async () => {
    const config = withFilter();
    for (const cluster of fromReadme('picked_endpoint')) config.addIn(CLUSTERS, cluster);
    config.setIn(ROUTE, { cluster: 'picked_endpoint', timeout: '0s' });
    const { status, findings } = await asked(config);
    expect(status).toBe(200);
    expect(findings).toEqual([]);
  });

  it('[O204] lacks clusters, which the doctor names, and works with its lines', async () => {
    const config = withFilter();
    const before = await asked(config);
    expect(before.status).toBe(500);
    const lines = new Map(before.findings.map(({ id, lines = [] }) => [id, lines]));
    expect([...lines.keys()]).toEqual(['destination-not-read', 'no-cluster']);
    const [route = '', picked = ''] = (lines.get('destination-not-read') ?? [])
      .join('\n')
      .split('# and among the clusters:');
    config.setIn(
      [...ROUTE, 'cluster'],
      (parse(route) as { route: { cluster: string } }).route.cluster,
    );
    for (const text of [picked, (lines.get('no-cluster') ?? []).join('\n')]) {
      for (const cluster of parse(text) as readonly unknown[]) config.addIn(CLUSTERS, cluster);
    }
    const after = await asked(config);
    expect(after.status).toBe(200);
    expect(after.findings).toEqual([]);
  });
});
