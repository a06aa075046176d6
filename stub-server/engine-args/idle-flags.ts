/** A pair of flags, one to switch on and one to switch off, needs one name here. */
const NAMES = `
add-dir-header additional-config aggregate-engine-logging all2all-backend allow-credentials
allow-deprecated-quantization allowed-headers allowed-local-media-path allowed-media-domains
allowed-methods allowed-origins alsologtostderr api-server-count async-scheduling attention-backend
attention-config calculate-kv-scales chat-template chat-template-content-format code-revision
collect-detailed-traces compilation-config config-format convert cp-kv-cache-interleave-size
cpu-distributed-timeout-seconds cpu-offload-gb cpu-offload-params cudagraph-capture-sizes
cudagraph-metrics data-parallel-address data-parallel-backend data-parallel-external-lb
data-parallel-hybrid-lb data-parallel-multi-port-external-lb data-parallel-rank
data-parallel-rpc-port data-parallel-size-local data-parallel-start-rank
data-parallel-supervisor-port dataset-in-memory dataset-table-name dataset-url
dbo-decode-token-threshold dbo-prefill-token-threshold dcp-comm-backend
dcp-kv-cache-interleave-size decode-context-parallel-size default-chat-template-kwargs
default-mm-loras device diffusion-config disable-access-log-for-endpoints disable-cascade-attn
disable-chunked-mm-input disable-custom-all-reduce disable-fastapi-docs
disable-frontend-multiprocessing disable-hybrid-kv-cache-manager disable-log-requests
disable-log-stats disable-nccl-for-dp-synchronization disable-sliding-window
disable-uvicorn-access-log distributed-executor-backend distributed-timeout-seconds download-dir
dp-supervisor-probe-failure-threshold dp-supervisor-probe-interval-s dp-supervisor-probe-timeout-s
dtype enable-auto-tool-choice enable-bf16x3-router-gemm enable-chunked-prefill
enable-cumem-allocator enable-cutedsl-warmup enable-dbo enable-elastic-ep enable-ep-weight-filter
enable-eplb enable-expert-parallel enable-flash-late-interaction enable-flashinfer-autotune
enable-force-include-usage enable-layerwise-nvtx-tracing enable-log-deltas enable-log-outputs
enable-log-requests enable-logging-iteration-details enable-mamba-cache-stochastic-rounding
enable-mfu-metrics enable-mixed-moe-lora-format enable-mm-embeds enable-moe-shared-loras
enable-offline-docs enable-per-request-metrics enable-prompt-embeds enable-prompt-tokens-details
enable-return-routed-experts enable-server-load-tracking enable-sleep-mode enable-ssl-refresh
enable-tokenizer-info-endpoint enable-tower-connector-lora enforce-eager eplb-config
event-batch-size exclude-tools-when-tool-choice-none expert-placement-strategy
fail-on-environ-validation fake-metrics-refresh-interval fingerprint-mode fingerprint-value
force-dummy-tokenizer fully-sharded-loras gdn-prefill-backend generation-config
gpu-memory-utilization grpc h11-max-header-count h11-max-incomplete-event-size hash-seed headless
hf-config-path hf-overrides hf-token ignore-patterns interleave-mm-strings
io-processor-plugin ir-op-priority jit-monitor-mode jit-monitor-verbose kernel-config kv-cache-dtype
kv-cache-dtype-skip-layers kv-cache-memory-bytes kv-cache-metrics kv-cache-metrics-sample
kv-offloading-backend kv-sharing-fast-prefill
language-model-only limit-mm-per-prompt linear-backend load-format log-backtrace-at log-config-file
log-dir log-error-stack log-file log-file-max-size log-http logits-processors logprobs-mode
logtostderr long-prefill-token-threshold lora-dtype lora-target-modules mamba-backend
mamba-block-size mamba-cache-dtype mamba-cache-mode mamba-cache-philox-rounds mamba-ssm-cache-dtype
master-addr master-port max-cudagraph-capture-size max-log-len max-logprobs
max-long-partial-prefills max-lora-rank max-num-partial-prefills max-num-scheduled-tokens
max-parallel-loading-workers max-seq-len-to-capture
max-tool-call-array-param-length max-tool-call-integer-param max-tool-call-number-param
media-io-kwargs middleware min-tool-call-array-param-length min-tool-call-integer-param
min-tool-call-number-param mm-encoder-attn-backend mm-encoder-attn-dtype
mm-encoder-fp8-scale-path mm-encoder-fp8-scale-save-margin mm-encoder-fp8-scale-save-path
mm-encoder-tp-mode mm-ipc-gpu-memory-gb mm-processor-cache-gb
mm-processor-cache-type mm-processor-kwargs mm-render-timeout mm-shm-cache-max-object-size-mb
mm-tensor-ipc model-class-overrides model-impl model-loader-extra-config moe-backend nnodes
node-rank numa-bind numa-bind-cpus numa-bind-nodes object-tool-call-not-required-field-probability
offload-backend offload-group-size offload-num-in-group offload-params offload-prefetch-step 
one-output optimization-level otlp-traces-endpoint override-attention-dtype
override-generation-config performance-mode pipeline-parallel-size pooler-config
prefill-context-parallel-size prefill-schedule-interval prefix-caching-hash-algo prefix-match-unit
profiler-config pt-load-map-location quantization ray-workers-use-nsight reasoning-config
reasoning-parser reasoning-parser-plugin render-timeout render-url renderer-num-workers
response-role return-tokens-as-token-ids revision root-path runner safetensors-load-strategy
safetensors-prefetch-block-size safetensors-prefetch-num-threads scheduler-cls
show-hidden-metrics-for-version shutdown-timeout skip-headers
skip-log-headers skip-mm-profiling skip-tokenizer-init skip-tool-validation
specialize-active-lora spec-method spec-model spec-tokens speculative-config ssl-ca-certs
ssl-cert-reqs ssl-ciphers stderrthreshold stream-interval strict-openapi structured-outputs-config
swap-space task tensor-parallel-size 
tokenizer tokenizer-mode tokenizer-revision tokenizers-cache-dir tokens-only
tool-call-extra-call-probability tool-call-not-required-param-probability tool-call-parser
tool-parser-plugin tool-server trust-remote-code trust-request-chat-template ubatch-size uds
uds-socket-path use-fp64-gumbel use-tqdm-on-load uvicorn-log-level v video-pruning-rate vmodule
watermark weight-transfer-config worker-cls worker-extension-cls zmq-max-connect-attempts
`;

/**
 * Flags of vLLM and of llm-d-inference-sim that change nothing here: there is no accelerator, model
 * or tokenizer to configure, or what they switch on is always so.
 */
export const IDLE_FLAGS: ReadonlySet<string> = new Set(NAMES.split(/\s+/).filter((name) => name));
