import { ConfigError, type ConfigIssue } from '../../framework/error.ts';
import type { Environment } from '../../framework/runtime.ts';

/** What the environment says about traces, checked. */
export interface TracingPlan {
  readonly protocol: 'grpc' | 'http/protobuf';
  /** Where the collector is. The exporter itself reads what else is about the connection. */
  readonly url: string;
  readonly byParent: boolean;
  /** The share of traces that is written where no caller decides. */
  readonly ratio: number;
  readonly batch: {
    readonly maxQueueSize: number;
    readonly maxExportBatchSize: number;
    readonly scheduledDelayMillis: number;
    readonly exportTimeoutMillis: number;
  };
}

/** The reference's defaults. */
const SAMPLER = 'parentbased_traceidratio';
const RATIO = 0.1;
const PROTOCOL = 'grpc';
const ENDPOINTS = { grpc: 'http://localhost:4317', 'http/protobuf': 'http://localhost:4318' };

/** Whether a sampler follows the caller, and its ratio: undefined for that of the environment. */
const SAMPLERS: Readonly<Record<string, readonly [byParent: boolean, ratio?: number]>> = {
  always_on: [false, 1],
  always_off: [false, 0],
  traceidratio: [false],
  parentbased_always_on: [true, 1],
  parentbased_always_off: [true, 0],
  parentbased_traceidratio: [true],
};

/** It is OpenTelemetry's default, too. Each message costs time, whatever is in it. */
const BATCH_SPANS = 512;

/**
 * Reads OpenTelemetry's variables as its specification has them, with the defaults of the reference
 * picker. Undefined where they switch traces off. Throws ConfigError for values that cannot be
 * used.
 */
export function planTracing(environment: Environment): TracingPlan | undefined {
  const read = (name: string): string | undefined => environment[name]?.trim() || undefined;
  if (read('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined;
  const exporter = read('OTEL_TRACES_EXPORTER') ?? 'otlp';
  if (exporter === 'none') return undefined;
  const issues: ConfigIssue[] = [];
  const wrong = (path: string, is: string, must: string): void =>
    void issues.push({ path, message: `is ${is}: it must be ${must}` });
  if (exporter !== 'otlp') wrong('OTEL_TRACES_EXPORTER', exporter, 'otlp or none');
  const protocol = protocolOf(read, wrong);
  const { byParent, ratio } = samplerOf(read, wrong);
  const url = urlOf(read, protocol, wrong);
  const plan = { protocol, url, byParent, ratio, batch: batchOf(read, wrong) };
  if (issues.length > 0) throw new ConfigError('environment', issues);
  return plan;
}

function batchOf(read: Read, wrong: Wrong): TracingPlan['batch'] {
  const number = (name: string, byDefault: number): number => {
    const text = read(name);
    const value = text === undefined ? byDefault : Number(text);
    if (!Number.isSafeInteger(value) || value < 1) wrong(name, String(text), 'a number above 0');
    return value;
  };
  const maxQueueSize = number('OTEL_BSP_MAX_QUEUE_SIZE', 2048);
  const batchSize = number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', BATCH_SPANS);
  return {
    maxQueueSize,
    maxExportBatchSize: Math.min(maxQueueSize, batchSize),
    scheduledDelayMillis: number('OTEL_BSP_SCHEDULE_DELAY', 5000),
    exportTimeoutMillis: number('OTEL_BSP_EXPORT_TIMEOUT', 30_000),
  };
}

type Read = (name: string) => string | undefined;
type Wrong = (path: string, is: string, must: string) => void;

function protocolOf(read: Read, wrong: Wrong): TracingPlan['protocol'] {
  const specific = 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL';
  const name = read(specific) === undefined ? 'OTEL_EXPORTER_OTLP_PROTOCOL' : specific;
  const protocol = read(name) ?? PROTOCOL;
  if (protocol === 'grpc' || protocol === 'http/protobuf') return protocol;
  wrong(name, protocol, 'grpc or http/protobuf');
  return PROTOCOL;
}

function samplerOf(
  read: Read,
  wrong: Wrong,
): { readonly byParent: boolean; readonly ratio: number } {
  const name = read('OTEL_TRACES_SAMPLER') ?? SAMPLER;
  const known = Object.hasOwn(SAMPLERS, name) ? SAMPLERS[name] : undefined;
  if (known === undefined) wrong('OTEL_TRACES_SAMPLER', name, Object.keys(SAMPLERS).join(', '));
  const [byParent, fixed] = known ?? [true];
  const given = read('OTEL_TRACES_SAMPLER_ARG');
  const ratio = given === undefined ? RATIO : Number(given);
  if (!(ratio >= 0 && ratio <= 1)) {
    wrong('OTEL_TRACES_SAMPLER_ARG', String(given), 'a number from 0 to 1');
  }
  return { byParent, ratio: fixed ?? ratio };
}

/** Checked here, because the exporters take another URL where they cannot read it. */
function urlOf(read: Read, protocol: TracingPlan['protocol'], wrong: Wrong): string {
  const specific = read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const shared = read('OTEL_EXPORTER_OTLP_ENDPOINT');
  const text = specific ?? shared ?? ENDPOINTS[protocol];
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) {
    const name = `OTEL_EXPORTER_OTLP_${specific === undefined ? '' : 'TRACES_'}ENDPOINT`;
    wrong(name, text, 'a URL such as http://otel-collector:4317');
  }
  if (protocol === 'grpc' || specific !== undefined) return text;
  return `${text.replace(/\/$/, '')}/v1/traces`;
}
