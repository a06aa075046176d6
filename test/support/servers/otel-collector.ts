import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../../../bench/support/stack.ts';
import { cacheFolder, makeCacheFolder } from '../../../src/files/writing/cache-folder.ts';

const run = promisify(execFile);
const VERSION = 'v0.160.0';
const BUILD_TIMEOUT_MS = 30 * 60_000;
/** The collector's parts that the tests need: OTLP in, by both protocols, and out as JSON. */
const SOURCE = `package main

import (
	"log"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func factories() (otelcol.Factories, error) {
	receivers, err := otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	if err != nil {
		return otelcol.Factories{}, err
	}
	exporters, err := otelcol.MakeFactoryMap[exporter.Factory](otlphttpexporter.NewFactory())
	telemetry := otelconftelemetry.NewFactory()
	return otelcol.Factories{Receivers: receivers, Exporters: exporters, Telemetry: telemetry}, err
}

func main() {
	providers := []confmap.ProviderFactory{fileprovider.NewFactory()}
	resolver := confmap.ResolverSettings{ProviderFactories: providers, DefaultScheme: "file"}
	settings := otelcol.CollectorSettings{
		BuildInfo:              component.BuildInfo{Command: "otelcol", Version: "${VERSION}"},
		Factories:              factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: resolver},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		log.Fatal(err)
	}
}
`;

/** A span as the collector passes it on. Times are nanoseconds. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly traceState: string | undefined;
  readonly startNanos: bigint;
  readonly endNanos: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly status: { readonly code?: number; readonly message?: string };
  readonly resource: Readonly<Record<string, unknown>>;
}

export interface Collector {
  readonly grpcUrl: string;
  readonly httpUrl: string;
  readonly spans: readonly CollectedSpan[];
  stop(): Promise<void>;
}

/**
 * Path of a real OpenTelemetry collector, built once with Go into the user's cache. Undefined where
 * there is no Go, or its modules cannot be had.
 */
export async function fetchCollector(): Promise<string | undefined> {
  const folder = join(cacheFolder(), `otelcol-${VERSION}`);
  const binary = join(folder, 'otelcol');
  try {
    await access(binary, constants.X_OK);
    return binary;
  } catch {
    // It is built below.
  }
  try {
    await build(folder);
    return binary;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    process.stderr.write(`SKIPPED: tests with a real OpenTelemetry collector: ${why}\n`);
    return undefined;
  }
}

/** Built beside its place: an interrupted build must not look complete. */
async function build(folder: string): Promise<void> {
  await run('go', ['version']);
  process.stderr.write(`building the OpenTelemetry collector ${VERSION} once, some minutes\n`);
  makeCacheFolder();
  const work = await mkdtemp(`${folder}.building-`);
  try {
    const modules = ['otelcol', 'receiver/otlpreceiver', 'exporter/otlphttpexporter'];
    const required = modules.map((name) => `\tgo.opentelemetry.io/collector/${name} ${VERSION}`);
    const head = 'module pointsman/built\n\ngo 1.26\n\n';
    await writeFile(join(work, 'go.mod'), `${head}require (\n${required.join('\n')}\n)\n`);
    await writeFile(join(work, 'main.go'), SOURCE);
    const env = { ...process.env, CGO_ENABLED: '0' };
    const options = { cwd: work, timeout: BUILD_TIMEOUT_MS, env, maxBuffer: 1 << 26 };
    await run('go', ['mod', 'tidy', '-e'], options);
    const flags = ['-trimpath', '-ldflags', '-s -w', '-o', 'otelcol'];
    await run('go', ['build', ...flags, '.'], options);
    await rename(work, folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * Starts the collector on free ports of the loopback. It passes on what it gets to this process.
 */
export async function startCollector(binary: string): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const sink = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      spans.push(...spansIn(JSON.parse(Buffer.concat(chunks).toString())));
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await once(sink.listen(0, '127.0.0.1'), 'listening');
  const sinkPort = (sink.address() as AddressInfo).port;
  const [grpc, http] = [await freePort(), await freePort()];
  const folder = await mkdtemp(join(tmpdir(), 'pointsman-otelcol-'));
  const file = join(folder, 'config.yaml');
  await writeFile(file, JSON.stringify(configOf({ grpc, http, sinkPort })));
  const child = spawn(binary, ['--config', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const ended = once(child, 'exit');
  await eventually(
    () => said,
    (text) => text.includes('Everything is ready') || child.exitCode !== null,
  );
  if (child.exitCode !== null) throw new Error(`the collector ended: ${said}`);
  return {
    grpcUrl: `http://127.0.0.1:${grpc}`,
    httpUrl: `http://127.0.0.1:${http}`,
    spans,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
      sink.closeAllConnections();
      sink.close();
      await rm(folder, { recursive: true });
    },
  };
}

function configOf(ports: {
  readonly grpc: number;
  readonly http: number;
  readonly sinkPort: number;
}): object {
  const listening = (port: number): object => ({ endpoint: `127.0.0.1:${port}` });
  const protocols = { grpc: listening(ports.grpc), http: listening(ports.http) };
  const endpoint = `http://127.0.0.1:${ports.sinkPort}`;
  const pipelines = { traces: { receivers: ['otlp'], exporters: ['otlphttp'] } };
  return {
    receivers: { otlp: { protocols } },
    exporters: { otlphttp: { endpoint, encoding: 'json', compression: 'none' } },
    service: { telemetry: { metrics: { level: 'none' } }, pipelines },
  };
}

async function freePort(): Promise<number> {
  const server = createTcpServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

interface Value {
  readonly stringValue?: string;
  readonly intValue?: string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
  readonly arrayValue?: { readonly values?: readonly Value[] };
}
type Attributes = readonly { readonly key: string; readonly value: Value }[];
interface Otlp {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes?: Attributes };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly traceState?: string;
        readonly name: string;
        readonly kind: number;
        readonly startTimeUnixNano: string;
        readonly endTimeUnixNano: string;
        readonly attributes?: Attributes;
        readonly status?: CollectedSpan['status'];
      }[];
    }[];
  }[];
}

/** The spans of an OTLP request in JSON. */
function spansIn({ resourceSpans }: Otlp): readonly CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ startTimeUnixNano, endTimeUnixNano, attributes, ...span }) => ({
        ...span,
        parentSpanId: span.parentSpanId ?? '',
        traceState: span.traceState,
        status: span.status ?? {},
        startNanos: BigInt(startTimeUnixNano),
        endNanos: BigInt(endTimeUnixNano),
        attributes: recordOf(attributes),
        resource: recordOf(resource.attributes),
      })),
    ),
  );
}

function recordOf(attributes: Attributes = []): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));
}

function valueOf(value: Value): unknown {
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(valueOf);
  if (value.intValue !== undefined) return Number(value.intValue);
  return value.stringValue ?? value.doubleValue ?? value.boolValue;
}
