import type { ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { startProgram } from '../support/programs/started-program.ts';
import {
  type Collector,
  fetchCollector,
  startCollector,
} from '../support/servers/otel-collector.ts';
import { type ScriptedServer, startScriptedServer } from '../support/sidecar/scripted-server.ts';

/** Traces of the sidecar as a process, as a real OpenTelemetry collector gets them. */

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const otelcol = await fetchCollector();

describe.skipIf(otelcol === undefined)('traces of the sidecar', () => {
  let collector: Collector;
  let engine: ScriptedServer;
  let prefiller: ScriptedServer;
  let child: ChildProcess;
  let address: string;

  beforeAll(async () => {
    collector = await startCollector(otelcol ?? '');
    engine = await startScriptedServer();
    prefiller = await startScriptedServer();
    const ports = ['--host', '127.0.0.1', '--port', '0', '--engine', engine.address];
    ({
      child,
      document: { address },
    } = await startProgram<{ readonly address: string }>(['sidecar', ...ports, '--tracing'], {
      ...process.env,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.grpcUrl,
      OTEL_BSP_SCHEDULE_DELAY: '20',
    }));
  });
  afterAll(async () => {
    child?.kill('SIGKILL');
    await engine?.stop();
    await prefiller?.stop();
    await collector?.stop();
  });

  function ask(flags: '00' | '01'): Promise<Response> {
    return fetch(`http://${address}/v1/completions`, {
      method: 'POST',
      headers: {
        traceparent: `00-${TRACE}-${PARENT}-${flags}`,
        'x-prefiller-host-port': prefiller.address,
      },
      body: '{"prompt":"a"}',
    });
  }

  async function serve(): Promise<readonly string[]> {
    const prefill = await prefiller.next();
    prefill.response.end('{"kv_transfer_params":{"remote_host":"h"}}');
    const decode = await engine.next();
    decode.response.end('{}');
    return [prefill, decode].map(({ headers }) => String(headers['traceparent']));
  }

  test('[B180] both legs are parts of the request’s span, and that of the client’s', async () => {
    // The client does not want this one to be written.
    const unsampled = ask('00');
    await serve();
    await (await unsampled).text();
    const sampled = ask('01');
    const told = await serve();
    await (await sampled).text();
    const spans = await eventually(
      () => [...collector.spans],
      (all) => all.length >= 3,
    );
    const named = (name: string) => spans.filter((span) => span.name === name);
    const [request] = named('llm_d.pd_proxy.request');
    expect(request).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, kind: 2 });
    expect(told).toEqual(
      ['prefill', 'decode'].map((name) => `00-${TRACE}-${named(name)[0]?.spanId}-01`),
    );
    for (const name of ['prefill', 'decode']) {
      expect(named(name)).toHaveLength(1);
      expect(named(name)[0]?.parentSpanId).toBe(request?.spanId);
    }
    expect(request?.attributes).toMatchObject({
      'llm_d.pd_proxy.connector': 'nixlv2',
      'http.response.status_code': 200,
    });
  });
});
