import { z } from 'zod';

/** The reference's API version, and the deprecated one it still takes. */
const API_VERSIONS = ['llm-d.ai/v1alpha1', 'inference.networking.x-k8s.io/v1alpha1'] as const;

const name = z.string().min(1);

const pluginSchema = z.strictObject({
  type: name,
  name: name.optional(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
});

const profileSchema = z.strictObject({
  name,
  plugins: z
    .array(z.strictObject({ pluginRef: name, weight: z.number().positive().optional() }))
    .default([]),
});

const sourceSchema = z.strictObject({
  pluginRef: name,
  extractors: z.array(z.strictObject({ pluginRef: name })).default([]),
});

/** `EndpointPickerConfig` as the field writes it. What is not acted on yet is accepted and warned about. */
export const configSchema: z.ZodType<EndpointPickerConfig> = z.strictObject({
  apiVersion: z.enum(API_VERSIONS),
  kind: z.literal('EndpointPickerConfig'),
  featureGates: z.array(z.string()).default([]),
  plugins: z.array(pluginSchema).default([]),
  schedulingProfiles: z.array(profileSchema).default([]),
  dataLayer: z
    .strictObject({
      injectDefaults: z.boolean().default(true),
      sources: z.array(sourceSchema).default([]),
      discovery: z.strictObject({ pluginRef: name }).optional(),
      peerDiscovery: z.unknown().optional(),
      crossReplicaSyncerPluginRef: z.unknown().optional(),
      crossReplicaSyncInterval: z.unknown().optional(),
    })
    .default({ injectDefaults: true, sources: [] }),
  flowControl: z.unknown().optional(),
  requestHandler: z.unknown().optional(),
  saturationDetector: z.unknown().optional(),
  parser: z.unknown().optional(),
});

export interface PluginEntry {
  readonly type: string;
  readonly name?: string | undefined;
  readonly parameters?: Readonly<Record<string, unknown>> | null | undefined;
}

export interface ProfileEntry {
  readonly name: string;
  readonly plugins: readonly { readonly pluginRef: string; readonly weight?: number | undefined }[];
}

export interface EndpointPickerConfig {
  readonly apiVersion: (typeof API_VERSIONS)[number];
  readonly kind: 'EndpointPickerConfig';
  readonly featureGates: readonly string[];
  readonly plugins: readonly PluginEntry[];
  readonly schedulingProfiles: readonly ProfileEntry[];
  readonly dataLayer: {
    readonly injectDefaults: boolean;
    readonly sources: readonly {
      readonly pluginRef: string;
      readonly extractors: readonly { readonly pluginRef: string }[];
    }[];
    readonly discovery?: { readonly pluginRef: string } | undefined;
    readonly peerDiscovery?: unknown;
    readonly crossReplicaSyncerPluginRef?: unknown;
    readonly crossReplicaSyncInterval?: unknown;
  };
  readonly flowControl?: unknown;
  readonly requestHandler?: unknown;
  readonly saturationDetector?: unknown;
  readonly parser?: unknown;
}
