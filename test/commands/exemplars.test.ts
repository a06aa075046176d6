import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { planTracing } from '../../src/telemetry/tracing/tracing-plan.ts';
import { LiveStack } from '../support/programs/live-stack.ts';
import { fetchPrometheus } from '../support/programs/promtool.ts';
import { freePort } from '../support/servers/free-port.ts';

/** Traces named by the metrics page, as a real Prometheus reads them. */

/** What Prometheus 2.42 sends. */
const PROMETHEUS_ACCEPT =
  'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
const EXEMPLAR = /^(\S+)_bucket\{.*le="[^"]+"\} \d+ # \{trace_id="([0-9a-f]{32})"\} (\S+) (\S+)$/gm;

const prometheus = await fetchPrometheus();
const collector = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    response.setHeader('content-type', 'application/x-protobuf');
    response.end();
  });
});
let stack: LiveStack;

async function startStack(sampler: string): Promise<LiveStack> {
  const { port } = collector.address() as AddressInfo;
  const tracing = planTracing({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_TRACES_SAMPLER: sampler,
  });
  if (tracing === undefined) throw new Error('traces are switched off');
  return LiveStack.start({ tracing });
}

beforeAll(async () => {
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  stack = await startStack('always_on');
});
afterAll(async () => {
  await stack?.stop();
  collector.close();
});

/** One of the endpoints is dead: requests for it have no times. */
const isServed = (shown: string): boolean => /_duration_seconds_count\{.*fairness_id/.test(shown);

async function page(of: LiveStack, accept: string): Promise<readonly [type: string, text: string]> {
  const response = await fetch(`http://${of.admin}/metrics`, { headers: { accept } });
  return [response.headers.get('content-type') ?? '', await response.text()];
}

describe('exemplars', () => {
  it('[O175] name traces of the times to the first token and to the end', async () => {
    await stack.send(3);
    const [type, text] = await eventually(
      () => page(stack, PROMETHEUS_ACCEPT),
      ([, shown]) => isServed(shown),
    );
    expect(type).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect(text.endsWith('\n# EOF\n')).toBe(true);
    const found = [...text.matchAll(EXEMPLAR)];
    expect([...new Set(found.map(([, name = '']) => name))].toSorted()).toEqual([
      'llm_d_epp_request_duration_seconds',
      'llm_d_epp_request_ttft_seconds',
    ]);
    for (const [, , , value, at] of found) {
      expect(Number(value)).toBeGreaterThan(0);
      expect(Number(at)).toBeGreaterThan(1e9);
    }
    const [plainType, plain] = await page(stack, '*/*');
    expect(plainType).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(plain).not.toContain('trace_id');
    expect(plain).not.toContain('# EOF');
  });

  it('[O175] name no trace that is not sampled', async () => {
    const silent = await startStack('always_off');
    await silent.send(2);
    const [, text] = await eventually(
      () => page(silent, PROMETHEUS_ACCEPT),
      ([, shown]) => isServed(shown),
    );
    expect(text).not.toContain('trace_id');
    await silent.stop();
  });

  it.skipIf(prometheus === undefined)('[O176] are what a real Prometheus finds', async () => {
    await stack.send(1);
    const [, text] = await page(stack, PROMETHEUS_ACCEPT);
    const shown = new Set([...text.matchAll(EXEMPLAR)].map(([, , traceId]) => traceId));
    const reader = await startPrometheus(prometheus ?? '', stack.admin);
    const query = new URLSearchParams({
      query: 'llm_d_epp_request_ttft_seconds_bucket',
      start: String(Date.now() / 1000 - 3600),
      end: String(Date.now() / 1000 + 3600),
    });
    const found = await eventually(
      () => reader.get<readonly Series[]>(`query_exemplars?${query.toString()}`),
      (series) => series.length > 0,
    );
    const ids = found.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels.trace_id));
    expect(ids.length).toBeGreaterThan(0);
    for (const id of ids) expect(shown).toContain(id);
    const { activeTargets } = await reader.get<Targets>('targets');
    expect(activeTargets.map(({ health, lastError }) => [health, lastError])).toEqual([['up', '']]);
    const quantile = 'histogram_quantile(0.5, sum by (le) (llm_d_epp_request_ttft_seconds_bucket))';
    const { result } = await reader.get<Vector>(`query?query=${encodeURIComponent(quantile)}`);
    expect(result.map(({ value }) => Number(value[1]) > 0)).toEqual([true]);
    await reader.stop();
  });
});

interface Series {
  readonly exemplars: readonly { readonly labels: { readonly trace_id: string } }[];
}
interface Targets {
  readonly activeTargets: readonly { readonly health: string; readonly lastError: string }[];
}
interface Vector {
  readonly result: readonly { readonly value: readonly [number, string] }[];
}

/** Prometheus with exemplars switched on, which reads the page every second. */
async function startPrometheus(
  binary: string,
  target: string,
): Promise<{ get<T>(path: string): Promise<T>; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-prometheus-'));
  const config = join(folder, 'prometheus.yml');
  const jobs = [{ job_name: 'pointsman', static_configs: [{ targets: [target] }] }];
  writeFileSync(config, JSON.stringify({ global: GLOBAL, scrape_configs: jobs }));
  const port = await freePort();
  const args = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--enable-feature=exemplar-storage',
  ];
  const child = spawn(binary, args, { stdio: 'ignore' });
  const base = `http://127.0.0.1:${port}`;
  await eventually(
    () =>
      fetch(`${base}/-/ready`).then(
        ({ status }) => status,
        () => 0,
      ),
    (status) => status === 200,
  );
  return {
    async get<T>(path: string) {
      const response = await fetch(`${base}/api/v1/${path}`);
      return ((await response.json()) as { data: T }).data;
    },
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const GLOBAL = { scrape_interval: '1s', scrape_timeout: '1s' };
