import { z } from 'zod';
import { count, flag, json, type SettingTypes, text } from './setting-types.ts';

/** vLLM's `--kv-events-config`. */
interface KvEventsArg {
  readonly enable_kv_cache_events: boolean;
  readonly publisher: string;
  readonly endpoint: string;
  readonly replay_endpoint?: string | null | undefined;
  readonly buffer_steps?: number | undefined;
  readonly topic: string;
}

/** Where KV events go: in one setting of vLLM, or in several of llm-d-inference-sim. */
export interface KvEventArgs {
  readonly 'zmq-endpoint'?: string | undefined;
  readonly 'zmq-topic'?: string | undefined;
  readonly 'kv-events-replay-endpoint'?: string | undefined;
  readonly 'kv-events-replay-queue-size'?: number | undefined;
  readonly 'use-vllm-map-event-format'?: boolean | undefined;
  readonly 'kv-events-config'?: KvEventsArg | undefined;
}

const kvEventsConfig: z.ZodType<KvEventsArg> = z.looseObject({
  enable_kv_cache_events: z.boolean().default(false),
  publisher: z.string().default('zmq'),
  endpoint: z.string().default('tcp://*:5557'),
  replay_endpoint: z.string().nullish(),
  buffer_steps: z.int().positive().optional(),
  topic: z.string().default(''),
});

export const KV_EVENT_TYPES: SettingTypes<KvEventArgs> = {
  'zmq-endpoint': text,
  'zmq-topic': text,
  'kv-events-replay-endpoint': text,
  'kv-events-replay-queue-size': count,
  'use-vllm-map-event-format': flag,
  'kv-events-config': json(kvEventsConfig),
};

/** With the simulator's KV cache: where its events go. */
const SIMULATOR_ENDPOINT = 'tcp://127.0.0.1:5557';

export function kvEventOptions(
  args: KvEventArgs,
  { kvCache, asSimulator }: { readonly kvCache: boolean; readonly asSimulator: boolean },
): object {
  const config = args['kv-events-config'];
  const kvEventsFormat = args['use-vllm-map-event-format'] === true ? 'map' : undefined;
  if (config?.enable_kv_cache_events === true && config.publisher === 'zmq') {
    const kvEventsTarget = {
      endpoint: config.endpoint,
      replayEndpoint: config.replay_endpoint ?? undefined,
      replayBatches: config.buffer_steps,
      topic: config.topic,
    };
    return { kvEventsTarget, kvEventsFormat };
  }
  const endpoint = args['zmq-endpoint'] ?? (asSimulator ? SIMULATOR_ENDPOINT : undefined);
  if (endpoint === undefined || !kvCache) return {};
  const kvEventsTarget = {
    endpoint,
    replayEndpoint: args['kv-events-replay-endpoint'] || undefined,
    replayBatches: args['kv-events-replay-queue-size'],
    topic: args['zmq-topic'],
  };
  return { kvEventsTarget, kvEventsFormat };
}
