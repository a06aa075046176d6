import { ENGINES } from '../../../src/endpoints/scraping/page/engine-metrics.ts';
import { PageReader } from '../../../src/endpoints/scraping/page/page-reader.ts';
import { type FuzzTarget, promise, utf8 } from '../target.ts';

const VLLM = `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_running{engine="1",model_name="m"} 4.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="m"} 2.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:cache_config_info{block_size="16",num_gpu_blocks="9000",cache_dtype="au\\"to"} 1.0
vllm:lora_requests_info{max_lora="4",running_lora_adapters="a, b",waiting_lora_adapters=""} 1.7e9
process_start_time_seconds 1.7636e+09
`;
const TRTLLM = `trtllm_num_requests_waiting 1
trtllm_num_requests_running 2 1700000000000
trtllm_kv_cache_utilization 0.5
trtllm_kv_cache_tokens_per_block 32
trtllm_kv_cache_max_blocks 4000
`;
const TRITON = `nv_trt_llm_request_metrics{model="m",request_type="waiting",version="1"} 1
nv_trt_llm_request_metrics{model="m",request_type="scheduled",version="1"} 7
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction",model="m"} 0.1
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="tokens_per",model="m"} 64
`;
const SGLANG = `sglang:num_queue_reqs{engine_type="unified"} 4.0
sglang:num_running_reqs{engine_type="unified"} 5.0
sglang:token_usage{engine_type="unified"} 0.9
sglang:cache_config_info{page_size="1",num_pages="100000"} 1.0
`;

/** Keep their state from page to page, as for an endpoint. */
const readers = ENGINES.map((mapping) => new PageReader(mapping));

/** Every page is read without an error, and every value is in its domain. */
export const prometheus: FuzzTarget = {
  name: 'prometheus',
  seeds: [VLLM, TRTLLM, TRITON, SGLANG].map(utf8),
  words: ['+Inf', '-Inf', 'NaN', '# ', '{', '}', '"', '\\', '\n', '\r\n', ' ', ',', '=', '""'],
  run: (input) => {
    const page = Buffer.from(input);
    const outcomes = readers.map((reader, at) => {
      const name = ENGINES[at]?.name;
      const reading = reader.read(page);
      if (reading === undefined) return '-';
      if ('refused' in reading) return 'refused';
      const { waiting, running, kvUsage } = reading;
      for (const value of [waiting, running, kvUsage]) {
        promise(
          value === undefined || (value >= 0 && Number.isFinite(value)),
          () => `${name}: a value is ${value}`,
        );
      }
      promise((kvUsage ?? 0) <= 1, () => `${name}: the cache usage is ${kvUsage}`);
      const known = [waiting, running, kvUsage, reading.lora, reading.cache, reading.startedAtS];
      return known.map((each) => (each === undefined ? 0 : 1)).join('');
    });
    return outcomes.join(' ');
  },
};
