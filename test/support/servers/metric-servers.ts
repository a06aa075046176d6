import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The state that a model server reports. */
export interface ServerState {
  readonly queue: number;
  /** Share of KV memory in use, 0 to 1. */
  readonly kv: number;
  /** Loaded adapters, at most four. */
  readonly adapters?: readonly string[];
}

export interface MetricServer {
  /** `host:port`. */
  readonly address: string;
  stop(): Promise<void>;
}

/** A model server that serves only its metrics, with vLLM's names. Selects a free port if 0. */
export async function startMetricServer(
  { queue, kv, adapters }: ServerState,
  { host, port }: { readonly host: string; readonly port: number } = { host: '127.0.0.1', port: 0 },
): Promise<MetricServer> {
  const lines = [
    `vllm:num_requests_waiting{model_name="m"} ${queue}`,
    'vllm:num_requests_running{model_name="m"} 0',
    `vllm:kv_cache_usage_perc{model_name="m"} ${kv}`,
    'vllm:cache_config_info{block_size="16",num_gpu_blocks="27000"} 1',
    ...(adapters === undefined
      ? []
      : [
          `vllm:lora_requests_info{max_lora="4",running_lora_adapters="${adapters.join(',')}",waiting_lora_adapters=""} 1`,
        ]),
  ];
  const server = createServer((_request, response) => void response.end(`${lines.join('\n')}\n`));
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return {
    address: `${host}:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
