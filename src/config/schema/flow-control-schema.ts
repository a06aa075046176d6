import { z } from 'zod';
import { goDuration } from '../../framework/go-duration.ts';
import type { Millis } from '../../framework/runtime.ts';

/** The section `flowControl` of a configuration. Quantities and durations are as in Kubernetes. */

const UNITS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** A number, or text such as `10Gi` or `1k`, rounded up to a whole number. */
const quantity = z.union([z.number(), z.string()]).transform((given, context) => {
  const text = `${given}`.trim();
  const read = /^\+?(\d+\.?\d*|\.\d+)(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?$/.exec(text);
  if (read !== null) {
    const [, digits = '', exponent = '', unit] = read;
    return Math.ceil(Number(`${digits}${exponent}`) * (UNITS[unit ?? ''] ?? 1));
  }
  const message = 'must be a quantity that is not negative, such as 5000, 1k or 10Gi';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

const DURATION = 'must be a duration with its unit, such as 250ms, 60s or 1m30s, and not negative';

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

const bandFields = {
  maxBytes: quantity.nullish(),
  maxRequests: quantity.nullish(),
  defaultRequestTTL: duration.nullish(),
  fairnessPolicyRef: name,
  orderingPolicyRef: name,
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

const template = z.strictObject({ priority: z.int().optional(), ...bandFields });

export const flowControl: z.ZodType<FlowControlEntry> = z.strictObject({
  maxBytes: quantity.nullish(),
  maxRequests: quantity.nullish(),
  defaultRequestTTL: duration.nullish(),
  noEndpointRequestTTL: duration.nullish(),
  defaultPriorityBand: template.nullish(),
  defaultNegativePriorityBand: template.nullish(),
  priorityBands: z.array(z.strictObject({ priority: z.int().default(0), ...bandFields })).nullish(),
  usageLimitPolicyPluginRef: name,
  saturationDetector: z.strictObject({ pluginRef: name }).nullish(),
  enableEviction: z.boolean().nullish(),
});

/** The section as a file that is read alike: durations with their unit. */
export function writtenFlowControl(entry: FlowControlEntry): Readonly<Record<string, unknown>> {
  return JSON.parse(
    JSON.stringify(entry, (key, value: unknown) =>
      key.endsWith('TTL') && typeof value === 'number' ? `${value}ms` : (value ?? undefined),
    ),
  ) as Readonly<Record<string, unknown>>;
}
