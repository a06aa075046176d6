import { z } from 'zod';
import { goDuration } from '../../framework/values/go-duration.ts';

const name = z.string().min(1);

/** For an entry of a list whose fields are left out: its first field, which it must have. */
export function needsField(field: string): z.core.$ZodErrorMap {
  return ({ code, input }) =>
    code === 'invalid_type' && typeof input === 'string'
      ? `must be a map with fields, not a string: write ${field}: ${input}`
      : undefined;
}

/** `pluginRef` to a plugin of the list `plugins`. */
export const reference: z.ZodType<PluginReference> = z.strictObject(
  { pluginRef: name },
  { error: needsField('pluginRef') },
);

export interface PluginReference {
  readonly pluginRef: string;
}

/** A list; null, as YAML reads a bare `plugins:`, is an empty one. */
export function list<T extends z.ZodType>(item: T): z.ZodType<readonly z.output<T>[]> {
  return z
    .array(item)
    .nullish()
    .transform((items) => items ?? []);
}

/** Kept as it is written, since nothing here uses it. */
const duration = z
  .string()
  .refine((given) => goDuration(given) !== undefined, 'must be a duration such as 200ms or 2s');

const shared = {
  injectDefaults: z
    .boolean()
    .nullish()
    .transform((given) => given ?? true),
  sources: list(
    z.strictObject(
      { pluginRef: name, extractors: list(reference) },
      { error: needsField('pluginRef') },
    ),
  ),
};

const discovery = { endpoints: reference.nullish(), peers: reference.nullish() };

/** Where `discovery` names a plugin, one of its ways to do so. */
const NAMES_A_PLUGIN = 'names no plugin; write endpoints: {pluginRef: …}';

/** `dataLayer` of `llm-d.ai/v1alpha1` and of its legacy group, with what later releases added. */
export const dataLayerAlpha: z.ZodType<DataLayerEntry> = z.strictObject({
  ...shared,
  discovery: z
    .strictObject({ ...discovery, pluginRef: name.nullish() })
    .refine((given) => given.pluginRef ?? given.endpoints ?? given.peers, NAMES_A_PLUGIN)
    .nullish(),
  peerDiscovery: reference.nullish(),
  crossReplicaSyncerPluginRef: z.string().nullish(),
  crossReplicaSyncInterval: duration.nullish(),
  crossReplicaPublishTimeout: duration.nullish(),
});

/** `dataLayer` of `llm-d.ai/v1`. */
export const dataLayerV1: z.ZodType<DataLayerEntry> = z.lazy(() =>
  z.strictObject({
    ...shared,
    discovery: z
      .strictObject(discovery)
      .refine((given) => given.endpoints ?? given.peers, NAMES_A_PLUGIN)
      .nullish(),
    crossReplica: z
      .strictObject({
        syncerPluginRef: z.string().nullish(),
        syncInterval: duration.nullish(),
        publishTimeout: duration.nullish(),
      })
      .nullish(),
  }),
);

/** The section as written, in the shape of any version. */
export interface DataLayerEntry {
  readonly injectDefaults: boolean;
  readonly sources: readonly (PluginReference & {
    readonly extractors: readonly PluginReference[];
  })[];
  readonly discovery?:
    | {
        readonly pluginRef?: string | null | undefined;
        readonly endpoints?: PluginReference | null | undefined;
        readonly peers?: PluginReference | null | undefined;
      }
    | null
    | undefined;
  readonly peerDiscovery?: PluginReference | null | undefined;
  readonly crossReplicaSyncerPluginRef?: string | null | undefined;
  readonly crossReplicaSyncInterval?: string | null | undefined;
  readonly crossReplicaPublishTimeout?: string | null | undefined;
  readonly crossReplica?:
    | {
        readonly syncerPluginRef?: string | null | undefined;
        readonly syncInterval?: string | null | undefined;
        readonly publishTimeout?: string | null | undefined;
      }
    | null
    | undefined;
}

/** A reference and the path where it is written. */
export interface PlacedReference {
  readonly pluginRef: string;
  readonly path: string;
}

/** The plugin that finds the endpoints; `endpoints` counts where both forms are there. */
export function endpointDiscovery({ discovery }: DataLayerEntry): PlacedReference | undefined {
  const { endpoints, pluginRef } = discovery ?? {};
  const at = 'dataLayer.discovery';
  if (endpoints) {
    return { pluginRef: endpoints.pluginRef, path: `${at}.endpoints.pluginRef` };
  }
  return pluginRef ? { pluginRef, path: `${at}.pluginRef` } : undefined;
}

/** The paths of all that is given about other replicas of the picker. */
export function replicaSettings(entry: DataLayerEntry): readonly string[] {
  const { crossReplica, crossReplicaSyncInterval, crossReplicaPublishTimeout } = entry;
  const times: readonly (readonly [string, string | null | undefined])[] = [
    ['crossReplicaSyncInterval', crossReplicaSyncInterval],
    ['crossReplicaPublishTimeout', crossReplicaPublishTimeout],
    ['crossReplica.syncInterval', crossReplica?.syncInterval],
    ['crossReplica.publishTimeout', crossReplica?.publishTimeout],
  ];
  return [
    ...replicaReferences(entry).map(({ path }) => path),
    ...times.flatMap(([path, time]) => (time ? [`dataLayer.${path}`] : [])),
  ];
}

/** The references to plugins that are about other replicas of the picker. */
export function replicaReferences(entry: DataLayerEntry): readonly PlacedReference[] {
  const { discovery, peerDiscovery, crossReplicaSyncerPluginRef, crossReplica } = entry;
  const written: readonly (readonly [string, string | null | undefined])[] = [
    ['discovery.peers.pluginRef', discovery?.peers?.pluginRef],
    ['peerDiscovery.pluginRef', peerDiscovery?.pluginRef],
    ['crossReplicaSyncerPluginRef', crossReplicaSyncerPluginRef],
    ['crossReplica.syncerPluginRef', crossReplica?.syncerPluginRef],
  ];
  return written.flatMap(([path, pluginRef]) =>
    pluginRef ? [{ pluginRef, path: `dataLayer.${path}` }] : [],
  );
}
