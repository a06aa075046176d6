import { z } from 'zod';
import type { Millis } from '../../framework/runtime.ts';
import { goDuration } from '../../framework/values/go-duration.ts';
import { kubernetesQuantity } from '../../framework/values/kubernetes-quantity.ts';

/** The section `flowControl` of a configuration. Quantities and durations are as in Kubernetes. */

/** Where whole numbers of Go end. */
const TOO_LARGE = 2 ** 63;

/**
 * A number, or text such as `10Gi` or `1k`, rounded up to a whole number. As in the reference,
 * digits alone must be a number of 64 bits, while what is larger with a unit is the largest one.
 */
const quantity = z.union([z.number(), z.string()]).transform((given, context) => {
  const text = `${given}`.trim();
  const read = kubernetesQuantity(text);
  const isLarge = read !== undefined && read >= TOO_LARGE && /^\+?\d+$/.test(text);
  if (read !== undefined && !isLarge) return read;
  const message = isLarge
    ? 'must be below 2^63, 9223372036854775808; leave it out, or write 8Ei, for as good as no bound'
    : 'must be a quantity that is not negative, such as 5000, 1k or 10Gi';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

const DURATION =
  'must be a duration with its unit, such as 250ms, 60s or 1m30s, not negative, and of at most 292 years';

/** A text, as in the reference: a number would be read as nanoseconds, and meant as seconds. */
const duration = z.string(DURATION).transform((given, context) => {
  const millis = goDuration(given);
  if (millis !== undefined) return millis;
  context.addIssue({ code: 'custom', message: DURATION });
  return z.NEVER;
});

/** The name of a plugin; an empty one, as Go writes what is not set, is none. */
const name = z
  .string()
  .transform((given) => given || undefined)
  .nullish();

/** The reference's defaults. The planner fills them in; `usual` is for the page of all fields. */
export const FLOW_DEFAULTS = {
  bandBytes: 1_000_000_000,
  bandRequests: 5000,
  requestTtlMs: 60_000,
  detector: 'utilization-detector',
  ordering: 'fcfs-ordering-policy',
  fairness: 'global-strict-fairness-policy',
  usageLimit: 'static-usage-limit-policy',
} as const;

const bandFields = {
  maxBytes: quantity.nullish().meta({ usual: FLOW_DEFAULTS.bandBytes }),
  maxRequests: quantity.nullish().meta({ usual: FLOW_DEFAULTS.bandRequests }),
  defaultRequestTTL: duration.nullish(),
  fairnessPolicyRef: name.meta({ usual: FLOW_DEFAULTS.fairness }),
  orderingPolicyRef: name.meta({ usual: FLOW_DEFAULTS.ordering }),
};

/** What is read of a band. Templates may have a priority, which means nothing. */
export interface BandEntry {
  readonly priority?: number | undefined;
  /** 0 for the default. */
  readonly maxBytes?: number | null | undefined;
  readonly maxRequests?: number | null | undefined;
  /** In ms; 0 for no limit. */
  readonly defaultRequestTTL?: Millis | null | undefined;
  readonly fairnessPolicyRef?: string | null | undefined;
  readonly orderingPolicyRef?: string | null | undefined;
}

export interface FlowControlEntry {
  readonly maxBytes?: number | null | undefined;
  readonly maxRequests?: number | null | undefined;
  readonly defaultRequestTTL?: Millis | null | undefined;
  readonly noEndpointRequestTTL?: Millis | null | undefined;
  readonly defaultPriorityBand?: BandEntry | null | undefined;
  readonly defaultNegativePriorityBand?: BandEntry | null | undefined;
  readonly priorityBands?: readonly BandEntry[] | null | undefined;
  readonly usageLimitPolicyPluginRef?: string | null | undefined;
  readonly saturationDetector?:
    | { readonly pluginRef?: string | null | undefined }
    | null
    | undefined;
  readonly enableEviction?: boolean | null | undefined;
}

/** As Go leaves a number alone where the value is null. */
const priority = (byDefault: number | undefined): z.ZodType<number | undefined> =>
  z
    .int()
    .nullish()
    .transform((given) => given ?? byDefault);
const template = z.strictObject({ priority: priority(undefined), ...bandFields });
const band = z.strictObject({ priority: priority(0), ...bandFields });

export const flowControl: z.ZodType<FlowControlEntry> = z.strictObject({
  maxBytes: quantity.nullish(),
  maxRequests: quantity.nullish(),
  defaultRequestTTL: duration.nullish().meta({ usual: `${FLOW_DEFAULTS.requestTtlMs / 1000}s` }),
  noEndpointRequestTTL: duration.nullish(),
  defaultPriorityBand: template.nullish(),
  defaultNegativePriorityBand: template.nullish(),
  priorityBands: z.array(band).nullish(),
  usageLimitPolicyPluginRef: name.meta({ usual: FLOW_DEFAULTS.usageLimit }),
  saturationDetector: z
    .strictObject({ pluginRef: name.meta({ usual: FLOW_DEFAULTS.detector }) })
    .nullish(),
  enableEviction: z.boolean().nullish().meta({ usual: false }),
});

/** The section as a file that is read alike: durations with their unit. */
export function writtenFlowControl(entry: FlowControlEntry): Readonly<Record<string, unknown>> {
  return JSON.parse(
    JSON.stringify(entry, (key, value: unknown) =>
      key.endsWith('TTL') && typeof value === 'number' ? `${value}ms` : (value ?? undefined),
    ),
  ) as Readonly<Record<string, unknown>>;
}
