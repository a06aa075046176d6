import { type AttributeKey, attributeKey } from './endpoint.ts';

/** What data sources say of endpoints: all shared attributes, with the keys that name them. */

export interface LoraState {
  readonly running: ReadonlySet<string>;
  readonly waiting: ReadonlySet<string>;
  /** Adapters the server can hold at once. */
  readonly max: number;
}

/** Undefined where the server reports no LoRA state. */
export const LORA: AttributeKey<LoraState | undefined> = attributeKey<LoraState | undefined>(
  'lora',
  undefined,
);

export interface CacheConfig {
  readonly blockTokens: number;
  readonly blocks: number;
  /** The engine finds prefixes in multiples of so many tokens; of whole blocks when left out. */
  readonly matchTokens?: number | undefined;
  /** False where the engine says that it finds no prefix again; left out elsewhere. */
  readonly keepsPrefixes?: false | undefined;
}

/** The size of the KV cache as the engine reports it; undefined until then. */
export const CACHE_CONFIG: AttributeKey<CacheConfig | undefined> = attributeKey<
  CacheConfig | undefined
>('cache-config', undefined);

/** More engines than any server has behind one address: what reports more is taken for this many. */
export const ENGINE_COUNT_MAX = 256;

/**
 * How many engines answer at the endpoint's one address, as data-parallel ranks of one API server:
 * each has a batch, a KV memory and a prefix cache of its own, and the server chooses among them.
 */
export const ENGINE_COUNT: AttributeKey<number> = attributeKey<number>('engines', 1);

/** Start of the server's process, in seconds since the epoch by its clock; undefined if unknown. */
export const STARTED_AT: AttributeKey<number | undefined> = attributeKey<number | undefined>(
  'started-at',
  undefined,
);

/** Additional metrics that a configuration reads from the servers' pages, by configured name. */
export const CUSTOM_METRICS: AttributeKey<ReadonlyMap<string, number>> = attributeKey<
  ReadonlyMap<string, number>
>('custom-metrics', new Map());

/** What a configuration takes from labels of endpoints, by configured name. */
export const LABEL_ATTRIBUTES: AttributeKey<ReadonlyMap<string, string | number>> = attributeKey<
  ReadonlyMap<string, string | number>
>('label-attributes', new Map());

/** A model or adapter that a server lists. */
export interface ServedModel {
  readonly id: string;
  /** It is an adapter of another model. */
  readonly isAdapter: boolean;
  readonly object?: string | undefined;
  /** In seconds since the Unix epoch. */
  readonly created?: number | undefined;
  readonly owned_by?: string | undefined;
  readonly shutdown_date?: string | undefined;
}

/** What the server lists at `/v1/models`; undefined until its first answer. */
export const MODELS: AttributeKey<readonly ServedModel[] | undefined> = attributeKey<
  readonly ServedModel[] | undefined
>('models', undefined);

/**
 * The most tokens of a prompt and its answer together that the server takes, as it says; undefined
 * if unknown.
 */
export const CONTEXT_WINDOW: AttributeKey<number | undefined> = attributeKey<number | undefined>(
  'context-window',
  undefined,
);

/** The share of time in which the busiest GPU of the server computes, 0 to 1; undefined if unknown. */
export const GPU_UTILIZATION: AttributeKey<number | undefined> = attributeKey<number | undefined>(
  'gpu-utilization',
  undefined,
);

/** Names of custom metrics of endpoints that are clusters: what the cluster's picker reports. */
export const CLUSTER_QUEUE_SIZE = 'llm-d.ai/multicluster-queue-size';
export const CLUSTER_KV_CACHE_USAGE = 'llm-d.ai/multicluster-kv-cache-utilization';
