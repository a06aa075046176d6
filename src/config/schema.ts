import { z } from 'zod';
import { readYaml } from '../files/read-yaml.ts';
import { zodIssues } from '../files/zod-issues.ts';
import { ConfigError } from '../framework/error.ts';
import type { EjectionPlan } from '../picker/ejection/ejection-plan.ts';
import { ejection } from './ejection-schema.ts';

export const API_VERSION = 'llm-d.ai/v1alpha1';
/** The version's deprecated name, which the reference still accepts. */
export const LEGACY_API_VERSION = 'inference.networking.x-k8s.io/v1alpha1';
export const KIND = 'EndpointPickerConfig';

const name = z.string().min(1);
const reference = z.strictObject({ pluginRef: name });

/** A list; null, as YAML reads a bare `plugins:`, is an empty one. */
function list<T extends z.ZodType>(item: T): z.ZodType<readonly z.output<T>[]> {
  return z
    .array(item)
    .nullish()
    .transform((items) => items ?? []);
}

const plugin = z.strictObject({
  type: name,
  name: name.optional(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
});

const profile = z.strictObject({
  name,
  plugins: list(z.strictObject({ pluginRef: name, weight: z.number().nonnegative().optional() })),
});

const dataLayer = z.strictObject({
  injectDefaults: z.boolean().default(true),
  sources: list(z.strictObject({ pluginRef: name, extractors: list(reference) })),
  discovery: reference.nullish(),
  peerDiscovery: reference.nullish(),
  crossReplicaSyncerPluginRef: name.nullish(),
  crossReplicaSyncInterval: z.string().nullish(),
});

/** Its values have no effect yet. Its names are checked, so that a misspelt one is found today. */
const flowControl = z
  .strictObject({
    maxBytes: z.unknown(),
    maxRequests: z.unknown(),
    defaultRequestTTL: z.unknown(),
    noEndpointRequestTTL: z.unknown(),
    defaultPriorityBand: z.unknown(),
    defaultNegativePriorityBand: z.unknown(),
    priorityBands: z.unknown(),
    usageLimitPolicyPluginRef: z.unknown(),
    saturationDetector: z.unknown(),
    enableEviction: z.unknown(),
  })
  .partial();

/** The other fields are parameters of the scheduler type. */
const scheduler = z.looseObject({ type: name });

export interface SchedulerEntry {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface PluginEntry {
  readonly type: string;
  readonly name?: string | undefined;
  readonly parameters?: Readonly<Record<string, unknown>> | null | undefined;
}

interface PluginReference {
  readonly pluginRef: string;
}

export interface ProfileEntry {
  readonly name: string;
  readonly plugins: readonly (PluginReference & { readonly weight?: number | undefined })[];
}

export interface DataLayerEntry {
  readonly injectDefaults: boolean;
  readonly sources: readonly (PluginReference & {
    readonly extractors: readonly PluginReference[];
  })[];
  readonly discovery?: PluginReference | null | undefined;
  readonly peerDiscovery?: PluginReference | null | undefined;
  readonly crossReplicaSyncerPluginRef?: string | null | undefined;
  readonly crossReplicaSyncInterval?: string | null | undefined;
}

export interface EndpointPickerConfig {
  readonly apiVersion: typeof API_VERSION | typeof LEGACY_API_VERSION;
  readonly kind: typeof KIND;
  readonly featureGates: readonly string[];
  readonly plugins: readonly PluginEntry[];
  readonly schedulingProfiles: readonly ProfileEntry[];
  readonly dataLayer: DataLayerEntry;
  /** Our addition: decides in place of the profiles, which decide only what it leaves to them. */
  readonly scheduler?: SchedulerEntry | null | undefined;
  /** Our addition. */
  readonly ejection?: EjectionPlan | null | undefined;
  readonly flowControl?: Readonly<Record<string, unknown>> | null | undefined;
  readonly requestHandler?: { readonly parsers: readonly PluginReference[] } | null | undefined;
  readonly saturationDetector?: PluginReference | null | undefined;
  readonly parser?: PluginReference | null | undefined;
}

/** Strict: an unknown field is an error. A known field without an effect gets a warning. */
const configSchema: z.ZodType<EndpointPickerConfig> = z.strictObject({
  apiVersion: z.enum([API_VERSION, LEGACY_API_VERSION]),
  kind: z.literal(KIND),
  featureGates: list(z.string()),
  plugins: list(plugin),
  schedulingProfiles: list(profile),
  dataLayer: dataLayer.nullish().transform((given) => given ?? dataLayer.parse({})),
  scheduler: scheduler.nullish(),
  ejection: ejection.nullish(),
  flowControl: flowControl.nullish(),
  requestHandler: z.strictObject({ parsers: list(reference) }).nullish(),
  saturationDetector: reference.nullish(),
  parser: reference.nullish(),
});

/** 1 Mi, as in the reference's file discovery; a configuration has a few thousand characters. */
const CONFIG_CHARACTERS_MAX = 1024 * 1024;

/** Reads YAML or JSON text. Throws ConfigError with every syntax error, or every error of shape. */
export function readConfig(text: string, source: string): EndpointPickerConfig {
  if (text.length > CONFIG_CHARACTERS_MAX) {
    const message = `has ${text.length} characters; at most ${CONFIG_CHARACTERS_MAX} are read`;
    throw new ConfigError(source, [{ path: 'file', message }]);
  }
  const parsed = configSchema.safeParse(readYaml(text, source));
  if (parsed.success) return parsed.data;
  throw new ConfigError(source, zodIssues(parsed.error, { schema: configSchema }));
}
