import { z } from 'zod';
import { otherPurpose } from '../../files/reading/file-purpose.ts';
import { readYaml } from '../../files/reading/read-yaml.ts';
import { YAML_1_1_SCALARS } from '../../files/reading/yaml-scalars.ts';
import { UNKNOWN_FIELD, zodIssues } from '../../files/reading/zod-issues.ts';
import { ConfigError, type ConfigIssue } from '../../framework/error.ts';
import type { EjectionPlan } from '../../picker/ejection/ejection-plan.ts';
import type { CapacityPlan } from '../../picker/plan/capacity-plan.ts';
import type { ConfigNote } from '../../picker/plan/config-note.ts';
import type { HoldPlan } from '../../picker/plan/hold-plan.ts';
import { withOlderFields } from '../reference/older-releases.ts';
import { asGoReads } from './as-go-reads.ts';
import { capacity } from './capacity-schema.ts';
import {
  type DataLayerEntry,
  dataLayerAlpha,
  dataLayerV1,
  list,
  needsField,
  type PluginReference,
  reference,
} from './data-layer-schema.ts';
import { ejection } from './ejection-schema.ts';
import { type FlowControlEntry, flowControl } from './flow-control-schema.ts';
import { hold } from './hold-schema.ts';
import { withoutIdleValues } from './idle-values.ts';
import { withoutFaults } from './without-faults.ts';

export const API_VERSION = 'llm-d.ai/v1alpha1';
/** The version's deprecated name, which the reference still accepts. */
export const LEGACY_API_VERSION = 'inference.networking.x-k8s.io/v1alpha1';
/** The version whose fields are grouped in another way. */
export const API_VERSION_V1 = 'llm-d.ai/v1';
const API_VERSIONS: readonly [string, ...string[]] = [
  API_VERSION,
  API_VERSION_V1,
  LEGACY_API_VERSION,
];
export const CONFIG_KIND = 'EndpointPickerConfig';

const name = z.string().min(1);

const plugin = z.strictObject(
  {
    type: name,
    name: z
      .string()
      .nullish()
      .transform((given) => given || undefined),
    /** Templates write a list where nothing is set. */
    parameters: z.preprocess(
      (given) => (Array.isArray(given) && given.length === 0 ? undefined : given),
      z.record(z.string(), z.unknown()).nullish(),
    ),
  },
  { error: needsField('type') },
);

const profile = z.strictObject({
  name,
  plugins: list(
    z.strictObject(
      { pluginRef: name, weight: z.number().nullish() },
      { error: needsField('pluginRef') },
    ),
  ),
});

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

export interface ProfileEntry {
  readonly name: string;
  readonly plugins: readonly (PluginReference & { readonly weight?: number | null | undefined })[];
}

export interface EndpointPickerConfig {
  readonly apiVersion: string;
  readonly kind: typeof CONFIG_KIND;
  readonly featureGates: readonly string[];
  readonly plugins: readonly PluginEntry[];
  readonly schedulingProfiles: readonly ProfileEntry[];
  readonly dataLayer: DataLayerEntry;
  /** Our addition: decides in place of the profiles, which decide only what it leaves to them. */
  readonly scheduler?: SchedulerEntry | null | undefined;
  /** Our addition. */
  readonly ejection?: EjectionPlan | null | undefined;
  /** Our addition. */
  readonly hold?: HoldPlan | null | undefined;
  /** Our addition. */
  readonly capacity?: CapacityPlan | null | undefined;
  readonly flowControl?: FlowControlEntry | null | undefined;
  readonly requestHandler?:
    | {
        readonly parsers: readonly PluginReference[];
        readonly propagatePriority?: boolean | null | undefined;
      }
    | null
    | undefined;
  readonly saturationDetector?: { readonly pluginRef?: string | undefined } | null | undefined;
  readonly parser?: PluginReference | null | undefined;
}

const shared = {
  kind: z.literal(CONFIG_KIND),
  featureGates: list(z.string()),
  plugins: list(plugin),
  schedulingProfiles: list(profile),
  scheduler: scheduler.nullish(),
  ejection: ejection.nullish(),
  hold: hold.nullish(),
  capacity: capacity.nullish(),
  flowControl: flowControl.nullish(),
  requestHandler: z
    .strictObject({ parsers: list(reference), propagatePriority: z.boolean().nullish() })
    .nullish(),
};

/** Strict: an unknown field is an error. A known field without an effect gets a note. */
const configAlpha: z.ZodType<EndpointPickerConfig> = z.strictObject({
  apiVersion: z.enum(API_VERSIONS),
  ...shared,
  dataLayer: withDefaults(dataLayerAlpha),
  saturationDetector: z.strictObject({ pluginRef: z.string().optional() }).nullish(),
  parser: reference.nullish(),
});

/** Without the fields that `llm-d.ai/v1` moved or dropped. */
const configV1: z.ZodType<EndpointPickerConfig> = z.lazy(() =>
  z.strictObject({
    apiVersion: z.literal(API_VERSION_V1),
    ...shared,
    dataLayer: withDefaults(dataLayerV1),
  }),
);

function withDefaults(section: z.ZodType<DataLayerEntry>): z.ZodType<DataLayerEntry> {
  return section.nullish().transform((given) => given ?? section.parse({}));
}

/** 1 Mi, as in the reference's file discovery; a configuration has a few thousand characters. */
const CONFIG_CHARACTERS_MAX = 1024 * 1024;

/** The value that YAML or JSON text stands for. Throws ConfigError with the first syntax error. */
export function readConfigText(text: string, source: string): unknown {
  if (text.length > CONFIG_CHARACTERS_MAX) {
    const message = `has ${text.length} characters; at most ${CONFIG_CHARACTERS_MAX} are read`;
    throw new ConfigError(source, [{ path: 'file', message }]);
  }
  return readYaml(text, source, YAML_1_1_SCALARS);
}

/** A configuration whose shape has been looked at. */
interface CheckedShape {
  /** What of it can be read. */
  readonly config: EndpointPickerConfig;
  readonly issues: readonly ConfigIssue[];
  /** With issues: the indexes of plugins with issues, of which only names and types are known. */
  readonly unread: ReadonlySet<number> | undefined;
  readonly notes: readonly ConfigNote[];
}

/**
 * A value that was read, without what its shape forbids, and an issue for each of these. Throws
 * ConfigError with every error of shape where the rest is no configuration either.
 */
export function checkShape(value: unknown, source: string): CheckedShape {
  if (value === null) {
    const message = `has no configuration; write at least apiVersion: ${API_VERSION} and kind: ${CONFIG_KIND}`;
    throw new ConfigError(source, [{ path: 'file', message }]);
  }
  const other = otherFile(value);
  if (other !== undefined) throw new ConfigError(source, [{ path: 'file', message: other }]);
  const { headed, notes: headNotes } = withHead(value);
  const schema = isV1(headed) ? configV1 : configAlpha;
  const used = withoutIdleValues(asGoReads(headed, schema, 'exact'));
  const notes = [...headNotes, ...used.notes];
  const parsed = schema.safeParse(used.value);
  if (parsed.success) return { config: parsed.data, issues: [], unread: undefined, notes };
  const issues = withPlaces(withOlderFields(zodIssues(parsed.error, { schema })));
  // A document of another kind would get errors that say nothing.
  if (isConfig(used.value)) {
    for (const left of ['fields', 'sections'] as const) {
      const rest = withoutFaults(used.value, parsed.error, left);
      const second = rest && schema.safeParse({ apiVersion: API_VERSION, ...rest.value });
      if (second?.success) return { config: second.data, issues, unread: rest?.plugins, notes };
    }
  }
  throw new ConfigError(source, issues);
}

/** Where a field stands that manifests and other tools have at the place of an unknown one. */
const PLACES: readonly (readonly [path: RegExp, advice: string])[] = [
  [/^plugins\[\d+\]\.[^.[]+$/, '; what a plugin takes stands in its parameters'],
  [/^spec$/, '; what stands in it stands at the top here'],
  [/^metadata$/, '; leave it out'],
];

function withPlaces(issues: readonly ConfigIssue[]): readonly ConfigIssue[] {
  return issues.map((issue) => {
    if (issue.message !== UNKNOWN_FIELD) return issue;
    const advice = PLACES.find(([path]) => path.test(issue.path))?.[1];
    return { ...issue, message: `${UNKNOWN_FIELD}${advice ?? ''}` };
  });
}

/**
 * The value with the version and the kind that the reference takes where they are left out. Its
 * later releases, which alone read `llm-d.ai/v1`, ask for both.
 */
function withHead(value: unknown): {
  readonly headed: unknown;
  readonly notes: readonly ConfigNote[];
} {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isV1(value)) {
    return { headed: value, notes: [] };
  }
  const given: Readonly<Record<string, unknown>> = { ...value };
  const usual = { apiVersion: API_VERSION, kind: CONFIG_KIND };
  const left = Object.entries(usual).filter(([field]) => (given[field] ?? '') === '');
  const notes = left.map(([path, assumed]): ConfigNote => {
    const text = `${path} is left out and read as ${assumed}; write it, because later releases of the reference refuse a file without it`;
    return { path, reason: 'assumed', text };
  });
  return { headed: { ...given, ...Object.fromEntries(left) }, notes };
}

const GIVE = 'give what stands under one of the names in';

/** A manifest of Kubernetes, in which a configuration may stand as text. */
function manifest(kind: string, value: object): string {
  const where =
    kind === 'ConfigMap' || 'data' in value ? `${GIVE} data` : 'give the text within it';
  return `is a manifest of the kind ${kind} and no configuration: ${where}`;
}

/** What a file of another purpose is, by its fields, and which option takes it. */
function otherFile(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if ('kind' in value && typeof value.kind === 'string' && 'metadata' in value) {
    return value.kind === CONFIG_KIND ? undefined : manifest(value.kind, value);
  }
  if ('router' in value || 'inferenceExtension' in value)
    return `is a values file of a chart and no configuration: ${GIVE} pluginsCustomConfig`;
  if ('kind' in value) return undefined;
  return otherPurpose(value, { field: 'plugins', noun: 'configuration' });
}

function isConfig(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && 'kind' in value && value.kind === CONFIG_KIND
  );
}

function isV1(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('apiVersion' in value)) return false;
  return value.apiVersion === API_VERSION_V1;
}
