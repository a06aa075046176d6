import { z } from 'zod';
import { issueText } from '../../src/files/zod-issues.ts';
import { ConfigError } from '../../src/framework/error.ts';
import { FAILURE_TYPES } from '../faults/failure-types.ts';
import { durationMs, goBoolean, shortNumber } from '../go-values/flag-values.ts';
import { fakeMetricsSchema } from '../metrics/fake-metrics.ts';
import type { EngineArgs, KvEventsArg, KvTransferArg } from './engine-args.ts';

const number = z.preprocess(shortNumber, z.number('is not a number'));
const count = z.preprocess(shortNumber, z.int('is not a whole number').positive());
const share = number.pipe(z.number().min(0).max(100));
const text = z.preprocess((value) => String(value), z.string());
const flag = z.preprocess((value) => goBoolean(value) ?? value, z.boolean('is not true or false'));
/** A bare number is in milliseconds: an old form of llm-d-inference-sim. */
const duration = z.preprocess(
  (value) => durationMs(value, 1) ?? value,
  z.number('is no duration, such as 250ms or 1.5s').nonnegative(),
);
const listOf = <T>(type: z.ZodType<T>): z.ZodType<T[]> =>
  z.preprocess((value) => (Array.isArray(value) ? value : [value]), z.array(type));
const json = <T>(type: z.ZodType<T>): z.ZodType<T> => z.preprocess(parsedJson, type);

/** An adapter: JSON in llm-d-inference-sim and vLLM, or vLLM's older `name=path`. */
const adapter = z.preprocess(
  (value) => {
    const [, name, path] = /^([^={}]+)(?:=(.*))?$/.exec(String(value)) ?? [];
    return name === undefined ? parsedJson(value) : { name, path: path ?? name };
  },
  z.looseObject({ name: z.string().min(1), path: z.string().optional() }),
);
const kvEventsConfig: z.ZodType<KvEventsArg> = z.looseObject({
  enable_kv_cache_events: z.boolean().default(false),
  publisher: z.string().default('zmq'),
  endpoint: z.string().default('tcp://*:5557'),
  replay_endpoint: z.string().nullish(),
  buffer_steps: z.int().positive().optional(),
  topic: z.string().default(''),
});

const kvTransferConfig: z.ZodType<KvTransferArg> = z.looseObject({
  kv_connector: z.string().optional(),
  kv_connector_extra_config: z
    .looseObject({
      num_cpu_blocks: count.optional(),
      cpu_bytes_to_use: number.pipe(z.number().positive()).optional(),
      bidirectional_kv_xfer: flag.optional(),
      get connectors() {
        return z.array(kvTransferConfig).optional();
      },
    })
    .optional(),
});

const TYPES = {
  model: text,
  'served-model-name': listOf(text),
  host: text,
  port: number.pipe(z.int().min(0).max(65_535)),
  engine: z.enum(['vllm', 'vllm-2025', 'sglang', 'trtllm']),
  seed: number.pipe(z.int()),
  'max-model-len': count,
  'max-num-seqs': count,
  'max-num-batched-tokens': count,
  'max-waiting-queue-length': count,
  'scheduling-policy': z.enum(['fcfs', 'priority']),
  'data-parallel-size': count.pipe(z.int().max(8)),
  'enable-prefix-caching': flag,
  'enable-kvcache': flag,
  'kv-cache-size': count,
  'num-gpu-blocks-override': count,
  'block-size': count,
  'kv-offloading-size': number.pipe(z.number().positive()),
  'kv-transfer-config': json(kvTransferConfig),
  'global-cache-hit-threshold': number.pipe(z.number().min(0).max(1)),
  'zmq-endpoint': text,
  'zmq-topic': text,
  'kv-events-replay-endpoint': text,
  'kv-events-replay-queue-size': count,
  'use-vllm-map-event-format': flag,
  'kv-events-config': json(kvEventsConfig),
  'mm-encoder-only': flag,
  'ec-transfer-config': json(z.looseObject({ ec_role: z.string().optional() })),
  'enable-lora': flag,
  'lora-modules': listOf(adapter),
  'max-loras': count,
  'max-cpu-loras': count,
  'latency-calculator': z.enum(['', 'constant', 'per-token']),
  'time-to-first-token': duration,
  'time-to-first-token-std-dev': duration,
  'inter-token-latency': duration,
  'inter-token-latency-std-dev': duration,
  'prefill-overhead': duration,
  'prefill-time-per-token': duration,
  'prefill-time-std-dev': duration,
  'kv-cache-transfer-latency': duration,
  'kv-cache-transfer-latency-std-dev': duration,
  'kv-cache-transfer-time-per-token': duration,
  'kv-cache-transfer-time-std-dev': duration,
  'time-factor-under-load': number.pipe(z.number().min(1)),
  'startup-duration': duration,
  mode: z.enum(['random', 'echo']),
  'dataset-path': text,
  'failure-injection-rate': share,
  'failure-types': listOf(z.enum(FAILURE_TYPES)),
  'fake-metrics': json(fakeMetricsSchema),
  'enable-request-id-headers': flag,
  strict: flag,
  'max-request-body-size-mb': count.pipe(z.int().max(512)),
  'default-embedding-dimensions': count,
  'api-key': listOf(text),
  'ssl-certfile': text,
  'ssl-keyfile': text,
  'self-signed-certs': flag,
} satisfies Record<keyof EngineArgs, z.ZodType>;

/** Names of settings that mean something here. */
export const ENGINE_ARG_NAMES: ReadonlySet<string> = new Set(Object.keys(TYPES));

const schema: z.ZodType<EngineArgs> = z.strictObject(TYPES).partial();

/** Checks settings by their names. Throws ConfigError with each wrong one; `prefix` begins names. */
export function checkEngineArgs(
  given: Readonly<Record<string, unknown>>,
  { source, prefix }: { readonly source: string; readonly prefix: string },
): EngineArgs {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => {
    const { path } = issue;
    const [name = ''] = path;
    return {
      path: `${prefix}${path.join('.')}`,
      message: `${shown(given[String(name)])} ${issueText(issue)}`,
    };
  });
  throw new ConfigError(source, issues);
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
function parsedJson(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
