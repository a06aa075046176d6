import type { Timings } from '../engine/timings.ts';
import type { FailureType } from '../faults/failure-types.ts';
import type { FakeMetrics } from '../metrics/fake-metrics.ts';
import type { DialectName } from '../metrics/metrics-page.ts';

export interface AdapterArg {
  readonly name: string;
  readonly path?: string | undefined;
}

/** vLLM's `--kv-events-config`. */
export interface KvEventsArg {
  readonly enable_kv_cache_events: boolean;
  readonly publisher: string;
  readonly endpoint: string;
  readonly replay_endpoint?: string | null | undefined;
  readonly buffer_steps?: number | undefined;
  readonly topic: string;
}

/** vLLM's `--kv-transfer-config`, in which one connector may have several. */
export interface KvTransferArg {
  readonly kv_connector?: string | undefined;
  readonly kv_connector_extra_config?:
    | {
        readonly num_cpu_blocks?: number | undefined;
        readonly cpu_bytes_to_use?: number | undefined;
        readonly bidirectional_kv_xfer?: boolean | undefined;
        readonly connectors?: readonly KvTransferArg[] | undefined;
      }
    | undefined;
}

/**
 * The settings of vLLM and llm-d-inference-sim that mean something here, under their names. Times
 * are in milliseconds.
 */
export interface EngineArgs {
  readonly model?: string | undefined;
  readonly 'served-model-name'?: readonly string[] | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly engine?: DialectName | undefined;
  readonly seed?: number | undefined;
  readonly 'max-model-len'?: number | undefined;
  readonly 'max-num-seqs'?: number | undefined;
  readonly 'max-num-batched-tokens'?: number | undefined;
  readonly 'max-waiting-queue-length'?: number | undefined;
  readonly 'scheduling-policy'?: 'fcfs' | 'priority' | undefined;
  readonly 'data-parallel-size'?: number | undefined;
  readonly 'enable-prefix-caching'?: boolean | undefined;
  readonly 'enable-kvcache'?: boolean | undefined;
  readonly 'kv-cache-size'?: number | undefined;
  readonly 'num-gpu-blocks-override'?: number | undefined;
  readonly 'block-size'?: number | undefined;
  readonly 'kv-offloading-size'?: number | undefined;
  readonly 'kv-transfer-config'?: KvTransferArg | undefined;
  readonly 'global-cache-hit-threshold'?: number | undefined;
  readonly 'zmq-endpoint'?: string | undefined;
  readonly 'zmq-topic'?: string | undefined;
  readonly 'kv-events-replay-endpoint'?: string | undefined;
  readonly 'kv-events-replay-queue-size'?: number | undefined;
  readonly 'use-vllm-map-event-format'?: boolean | undefined;
  readonly 'kv-events-config'?: KvEventsArg | undefined;
  readonly 'mm-encoder-only'?: boolean | undefined;
  readonly 'ec-transfer-config'?: { readonly ec_role?: string | undefined } | undefined;
  readonly 'enable-lora'?: boolean | undefined;
  readonly 'lora-modules'?: readonly AdapterArg[] | undefined;
  readonly 'max-loras'?: number | undefined;
  readonly 'max-cpu-loras'?: number | undefined;
  readonly 'latency-calculator'?: Timings['calculator'] | undefined;
  readonly 'time-to-first-token'?: number | undefined;
  readonly 'time-to-first-token-std-dev'?: number | undefined;
  readonly 'inter-token-latency'?: number | undefined;
  readonly 'inter-token-latency-std-dev'?: number | undefined;
  readonly 'prefill-overhead'?: number | undefined;
  readonly 'prefill-time-per-token'?: number | undefined;
  readonly 'prefill-time-std-dev'?: number | undefined;
  readonly 'kv-cache-transfer-latency'?: number | undefined;
  readonly 'kv-cache-transfer-latency-std-dev'?: number | undefined;
  readonly 'kv-cache-transfer-time-per-token'?: number | undefined;
  readonly 'kv-cache-transfer-time-std-dev'?: number | undefined;
  readonly 'time-factor-under-load'?: number | undefined;
  readonly 'startup-duration'?: number | undefined;
  readonly mode?: 'random' | 'echo' | undefined;
  readonly 'dataset-path'?: string | undefined;
  readonly 'failure-injection-rate'?: number | undefined;
  readonly 'failure-types'?: readonly FailureType[] | undefined;
  readonly 'fake-metrics'?: FakeMetrics | undefined;
  readonly 'enable-request-id-headers'?: boolean | undefined;
  readonly strict?: boolean | undefined;
  readonly 'max-request-body-size-mb'?: number | undefined;
  readonly 'default-embedding-dimensions'?: number | undefined;
  readonly 'api-key'?: readonly string[] | undefined;
  readonly 'ssl-certfile'?: string | undefined;
  readonly 'ssl-keyfile'?: string | undefined;
  readonly 'self-signed-certs'?: boolean | undefined;
}

/** Settings that take several values on the command line. */
export const LIST_ARGS: ReadonlySet<string> = new Set<keyof EngineArgs>([
  'served-model-name',
  'lora-modules',
  'failure-types',
  'api-key',
]);

/** Other names of the same settings: old ones of llm-d-inference-sim, and SGLang's. */
export const ALIASES: ReadonlyMap<string, string> = new Map([
  ['lora', 'lora-modules'],
  ['model-path', 'model'],
  ['context-length', 'max-model-len'],
  ['max-running-requests', 'max-num-seqs'],
  ['max-queued-requests', 'max-waiting-queue-length'],
  ['max-prefill-tokens', 'max-num-batched-tokens'],
  ['page-size', 'block-size'],
  ['dp-size', 'data-parallel-size'],
  ['tp-size', 'tensor-parallel-size'],
  ['tp', 'tensor-parallel-size'],
  ['pp', 'pipeline-parallel-size'],
  ['dp', 'data-parallel-size'],
  ['q', 'quantization'],
]);
