import type { Environment } from '../../framework/runtime.ts';

type Rule = readonly [pattern: RegExp, instead: string];

const NOT_SENT =
  'no traces are sent: OTEL_TRACES_EXPORTER must be otlp, or OTEL_EXPORTER_OTLP_ENDPOINT be given, ' +
  'and --tracing not be false';
export const LEARNED = 'latencies are learned in the picker: no prediction server is asked';
const FLOW_CONTROL = 'ENABLE_EXPERIMENTAL_FLOW_CONTROL_LAYER';
const OLDER = 'only older releases of the reference read it';

/** Variables that the reference, or a release before, reads and that have no effect here. */
const RULES: readonly Rule[] = [
  [/^LATENCY_|^SLO_BUFFER_FACTOR$/, LEARNED],
  [
    /^(?:PREDICTION|TRAINING)_SERVER_URL$|^(?:PREFILL|DECODE)_(?:PREDICTION|TRAINING)_URL$/,
    'no prediction or training server is asked',
  ],
  [
    /^(?:(?:NEG_)?HEADROOM_(?:TTFT|TPOT)_WEIGHT|HEADROOM_SELECTION_STRATEGY)$/,
    `${OLDER}: give it to latency-scorer in the configuration`,
  ],
  [new RegExp(`^${FLOW_CONTROL}$`), 'only 1, t or true switch flow control on'],
  [/^EXPERIMENTAL_USE_SCHEDULER_V2$/, `${OLDER}: what it switched on always is`],
  [/^ENABLE_EXPERIMENTAL_DATALAYER_V2$/, `${OLDER}: what it switched on always is`],
  [
    /^SD_(?:QUEUE_DEPTH|KV_CACHE_UTIL|METRICS_STALENESS)_THRESHOLD$/,
    `${OLDER}: list a utilization-detector with it in the configuration`,
  ],
  [
    /^PREFIX_(?:CACHE|SCORER_CACHE)_(?:HASH_BLOCK_SIZE|MAX_PREFIX_BLOCKS|LRU_CAPACITY|BLOCK_SIZE)/,
    `${OLDER}: list an approx-prefix-cache-producer with it in the configuration`,
  ],
  [
    /^(?:PREFILL_)?(?:ENABLE_)?(?:KVCACHE|PREFIX|LOAD|SESSION)_AWARE_SCORER(?:_WEIGHT)?$/,
    `${OLDER}: list the scorer, with its weight, in the configuration`,
  ],
  [
    /^(?:ENABLE_PREFIX_CACHE_SCHEDULING|(?:KV_CACHE|QUEUE|PREFIX_CACHE)_SCORE_WEIGHT)$/,
    `${OLDER}: list the scorer, with its weight, in the configuration`,
  ],
  [
    /^PD_(?:ENABLED|PROMPT_LEN_THRESHOLD)$/,
    `${OLDER}: list disagg-profile-handler and prefix-based-pd-decider in the configuration`,
  ],
  [/^LLMD_PAYLOAD_/, 'prompts are never written into traces'],
  [/^KVCACHE_INDEXER_REDIS_ADDR$/, `${OLDER}: the index is built in, in memory`],
];

/**
 * Whether a variable switches flow control on, as `--feature-gates=flowControl` does. Releases that
 * read it say that it is deprecated; with a value that is not true it changes nothing.
 */
export function asksForFlowControl(environment: Environment): boolean {
  return /^(?:1|[tT]|true|True|TRUE)$/.test(environment[FLOW_CONTROL] ?? '');
}

/** What holds instead of each variable without an effect, by `$NAME`. */
export function idleVariables(
  environment: Environment,
  traced: boolean,
): Readonly<Record<string, string>> {
  const rules: readonly Rule[] = traced ? RULES : [...RULES, [/^OTEL_/, NOT_SENT]];
  const found = Object.keys(environment).flatMap((name) => {
    if (name === FLOW_CONTROL && asksForFlowControl(environment)) return [];
    const [, instead] = rules.find(([pattern]) => pattern.test(name)) ?? [];
    return instead === undefined ? [] : [[`$${name}`, instead] as const];
  });
  return Object.fromEntries(found);
}
