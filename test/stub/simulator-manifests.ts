/** By where they stand. */
const COMMAND_LINES: Readonly<Record<string, string>> = {
  'its README, in Docker': `
    --port 8000 --model Qwen/Qwen2.5-1.5B-Instruct --lora-modules
    {"name":"tweet-summary-0"} {"name":"tweet-summary-1"}
  `,
  'its Deployment': `
    --model Qwen/Qwen3.5-397B-A17B --port 8000 --v=5
  `,
  'its Deployment with a KV cache': `
    --model Qwen/Qwen2.5-1.5B-Instruct --port 8000 --enable-kvcache true --v=5
    --render-url http://localhost:8082
  `,
  'its listener for KV events': `
    --port=8000 --model=Qwen/Qwen3-0.6B --enable-kvcache=true --block-size=8
    --zmq-endpoint=tcp://127.0.0.1:5557 --event-batch-size=1
    --render-url=http://localhost:8082
  `,
  'its prefill server': `
    --v=4 --port=8000 --model=meta-llama/Llama-3.1-8B-Instruct --data-parallel-size=1
    --prefill-time-per-token=200 --prefill-time-std-dev=3
    --render-url=http://localhost:8082
  `,
  'its decode server': `
    --v=4 --port=8200 --model=meta-llama/Llama-3.1-8B-Instruct --data-parallel-size=1
    --render-url=http://localhost:8082
  `,
  'its tests of data parallelism': `
    --model my_model --mode random --data-parallel-size 3 --force-dummy-tokenizer
  `,
  'its fake metrics': `
    --model my_model --fake-metrics
    {"running-requests":"oscillate:0:10:5s","waiting-requests":30,"kv-cache-usage":0.4,"loras":[{"running":"lora4,lora2","waiting":"lora3","timestamp":1257894567},{"running":"lora4,lora3","waiting":"","timestamp":1257894569}]}
  `,
  'the Gateway API Inference Extension, body-based routing': `
    --model deepseek-ai/DeepSeek-V3.2 --port 8000 --max-loras 2 --lora-modules
    {"name":"ski-resorts"} {"name":"movie-critique"}
  `,
  'the Gateway API Inference Extension, of old': `
    --model meta-llama/Llama-3.1-8B-Instruct --port 8000 --max-loras 2 --max-cpu-loras 2
    --lora food-review-1
  `,
  'the router, end to end': `
    --port=8200 --model=food-review --enable-kvcache=false --kv-cache-size=1024
    --block-size=16
    --zmq-endpoint=tcp://food-review-endpoint-picker.default.svc.cluster.local:5557
    --event-batch-size=16 --tokenizers-cache-dir=/tokenizer-cache --data-parallel-size=1
  `,
  'the router’s development environment': `
    --port=8200 --model=food-review --enable-kvcache=false --block-size=16
    --event-batch-size=16 --tokenizers-cache-dir=/tokenizer-cache --seed=50
  `,
  'the coordinator, end to end': `
    --port=8000 --model=m --force-dummy-tokenizer --max-model-len=131072
    --mm-encoder-only
    --ec-transfer-config={"ec_connector":"ECCPUConnector","ec_role":"ec_producer"}
  `,
  'the workload variant autoscaler': `
    --model unsloth/Meta-Llama-3.1-8B --port 8000 --time-to-first-token=100
    --inter-token-latency=20 --mode=random --enable-kvcache --kv-cache-size=1024
    --block-size=16 --tokenizers-cache-dir=/tmp --max-num-seqs 5 --max-model-len 1024
  `,
  'a guide with failures': `
    --model mock-gpt-4o --port 8000 --max-loras 2 --lora-modules
    {"name":"food-review-1"} --failure-injection-rate 0 --failure-types rate_limit
  `,
  'a guide with latencies': `
    --port=8000 --model=fake-model --mode=random --time-to-first-token=20ms
    --inter-token-latency=5ms
  `,
  'an autoscaling experiment': `
    --port=8000 --model=dummy-model --max-num-seqs=8 --max-model-len=4096
    --enable-kvcache --kv-cache-size=2048 --time-to-first-token=20ms
    --time-to-first-token-std-dev=5ms --inter-token-latency=4ms
    --inter-token-latency-std-dev=1ms --time-factor-under-load=3.0
    --latency-calculator=constant
  `,
  'a comparison with a trace': `
    --port 8001 --model Qwen/Qwen3-8B --mode random --force-dummy-tokenizer
    --max-model-len 16384 --max-num-seqs 128 --time-to-first-token 132ms
    --time-to-first-token-std-dev 39ms --inter-token-latency 11ms
    --inter-token-latency-std-dev 3300us
  `,
  'a benchmark of routing': `
    --model=Qwen/Qwen3-32B --mode=random --max-num-seqs=2048 --max-model-len=131072
    --time-to-first-token=1ms --inter-token-latency=10ms --force-dummy-tokenizer
  `,
  'a test of plugins': `
    --model=kthena-plugin-mock --served-model-name=router-plugin-model --port=8000
    --mode=echo --enable-kvcache=true --force-dummy-tokenizer=true --kv-cache-size=8
    --block-size=8 --max-num-seqs=2 --time-to-first-token=20ms --inter-token-latency=2ms
  `,
  'a laboratory with a data set': `
    --port=8000 --model=Qwen/Qwen2.5-0.5B-Instruct --render-url=http://localhost:8082
    --mode=random --time-to-first-token=50ms --inter-token-latency=5ms
    --dataset-path=/data/sharegpt-500.sqlite3 --dataset-in-memory
    --fake-metrics={"kv-cache-usage":0,"running-requests":0,"waiting-requests":0}
  `,
  'vLLM’s own, as a guide has them': `
    --model meta-llama/Llama-3.1-8B-Instruct --tensor-parallel-size 1 --port 8000
    --max-num-seqs 1024 --compilation-config 3 --enable-lora --max-loras 2
    --max-cpu-loras 12 --max-lora-rank 8
  `,
};

/** Arguments of llm-d-inference-sim in public manifests, guides and tests. */
export const MANIFEST_ARGS: readonly (readonly [where: string, args: readonly string[]])[] =
  Object.entries(COMMAND_LINES).map(([where, line]) => [where, line.trim().split(/\s+/)]);

/** Files of settings that llm-d-inference-sim ships. */
export const MANIFEST_FILES: Readonly<Record<string, string>> = {
  'with adapters': `engine: vllm
port: 8001
model: "Qwen/Qwen2-VL-2B-Instruct"
served-model-name:
- "model1"
- "model2"
max-loras: 2
max-cpu-loras: 5
max-num-seqs: 5
lora-modules:
- '{"name":"lora1","path":"/path/to/lora1"}'
- '{"name":"lora2","path":"/path/to/lora2"}'
mode: "random"
time-to-first-token: "40ms"
inter-token-latency: "2ms"
kv-cache-transfer-latency: "1s"
seed: 100100100
`,
  'with fake metrics': `engine: vllm
model: "Qwen/Qwen2-VL-2B-Instruct"
max-loras: 2
max-cpu-loras: 5
max-num-seqs: 5
mode: "random"
time-to-first-token: "20ms"
inter-token-latency: "10ms"
kv-cache-transfer-latency: "100ms"
seed: 100100100
fake-metrics:
  running-requests: 16
  waiting-requests: oscillate:0:5:1s
  kv-cache-usage: 0.3
  request-success-total:
    stop: 20
  request-prompt-tokens: [ 10, 20, 30, 15 ]
  request-generation-tokens: [ 50, 60, 40 ]
  request-params-max-tokens: [ 128, 256, 512 ]
  request-max-generation-tokens: [0, 0, 10, 20]
  loras:
  - '{"running":"lora1,lora2","waiting":"lora3","timestamp":1257894567}'
  - '{"running":"lora1,lora3","waiting":"","timestamp":1257894569}'
  ttft-buckets-values: [10, 20, 30, 10]
  tpot-buckets-values: [0, 0, 10, 20, 30]
`,
  'of SGLang': `engine: sglang
port: 8001
model: "Qwen/Qwen2-VL-2B-Instruct"
served-model-name:
- "model1"
- "model2"
context-length: 2048
max-running-requests: 5
max-queued-requests: 1000
mode: "random"
time-to-first-token: "20ms"
inter-token-latency: "1ms"
kv-cache-transfer-latency: "100ms"
seed: 100100100
`,
  'of a latency profile': `engine: vllm
port: 8000
model: "meta-llama/Llama-3.1-8B-Instruct"
max-num-seqs: 16
mode: "random"
latency-calculator: per-token
inter-token-latency: 12ms
inter-token-latency-std-dev: 2ms
prefill-overhead: 30ms
prefill-time-per-token: 250us
prefill-time-std-dev: 5ms
kv-cache-transfer-time-per-token: 3us
kv-cache-transfer-time-std-dev: 200us
time-factor-under-load: 2.0
`,
  'with groups': `model: "Qwen/Qwen2.5-1.5B-Instruct"
kvcache:
  enable-kvcache: true
  kv-cache-size: 2048
  kv-cache-dtype: turboquant_4bit_nc
  block-size: 16
  hash-seed: "42"
  zmq-endpoint: "tcp://127.0.0.1:5557"
  event-batch-size: 32
  use-vllm-map-event-format: true
global-cache-hit-threshold: 0
latencies:
  prefill-overhead: 10ms
  prefill-time-per-token: 50us
  prefill-time-std-dev: 5us
`,
};
