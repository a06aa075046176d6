import { z } from 'zod';
import { otherPurpose } from '../../../files/reading/file-purpose.ts';
import { readYaml } from '../../../files/reading/read-yaml.ts';
import { withLines } from '../../../files/reading/yaml-lines.ts';
import { zodIssues } from '../../../files/reading/zod-issues.ts';
import { RANK_COUNT_LABEL } from '../../../framework/data-parallel-rank.ts';
import type { EndpointId } from '../../../framework/endpoint.ts';
import { ENGINE_COUNT_MAX } from '../../../framework/endpoint-attributes.ts';
import { ConfigError, type ConfigIssue } from '../../../framework/error.ts';
import { ROLE_LABEL } from '../../../framework/roles.ts';
import type { EndpointSpec } from '../../../picker/pool/endpoint-pool.ts';
import { type ModelRewriteRule, priority, weight } from '../../rewrites/model-rewrites.ts';
import { isRankCount } from '../ranks/ranked-endpoints.ts';
import { hostPort, isHost, isPort, usualHostPort } from './host-port.ts';

/** The reference's bound; several thousand endpoints fit. */
export const FILE_BYTES_MAX: number = 1024 * 1024;
/** How much of a value that is refused is shown. */
const INPUT_CHARACTERS_MAX = 100;
const ROLES = [
  'prefill',
  'decode',
  'both',
  'prefill-decode',
  'encode',
  'encode-prefill',
  'encode-prefill-decode',
] as const;

const name = z.string().min(1, 'must not be empty');

const rewriteSchema = z.lazy(() =>
  z.strictObject({
    name: name.optional(),
    models: z.array(name).default([]),
    targets: z
      .array(z.strictObject({ model: name, weight: weight.optional() }))
      .min(1, 'must name at least one model'),
  }),
);

const fileSchema = z.lazy(() =>
  z.strictObject({
    // A template that lists nothing leaves null.
    endpoints: z.preprocess((given) => (given === null ? [] : given), z.array(z.unknown())),
    objectives: z.record(z.string(), priority).default({}),
    modelRewrites: z.array(rewriteSchema).default([]),
  }),
);

export interface EndpointsList {
  readonly endpoints: readonly EndpointSpec[];
  readonly priorities: ReadonlyMap<string, number>;
  readonly rewrites: readonly ModelRewriteRule[];
}

function notPort({ input }: { readonly input?: unknown }): string {
  if (input === undefined) return 'is missing (expected a port from 1 to 65535)';
  const shown = JSON.stringify(input).slice(0, INPUT_CHARACTERS_MAX);
  return `is ${shown}: make it a port from 1 to 65535`;
}

function notHost({ input }: { readonly input?: unknown }): string {
  const shown = JSON.stringify(input).slice(0, INPUT_CHARACTERS_MAX);
  return `is ${shown}: make it an IPv4 or IPv6 address or a host name, without a port`;
}

const entrySchema = z.lazy(() =>
  z
    .strictObject({
      name,
      // Empty or null is not given, as Go reads it.
      namespace: z
        .string()
        .nullish()
        .transform((given) => given || 'default'),
      address: z
        .string()
        .transform((text) => text.replace(/^\[(.*)\]$/, '$1'))
        .refine(isHost, { error: notHost }),
      port: z
        .union([z.number(), z.string().regex(/^\d+$/).transform(Number)], { error: notPort })
        .refine(isPort, { error: notPort }),
      labels: z
        .record(z.string(), z.string())
        .nullish()
        .transform((given) => given ?? {}),
      /** Builds before the reference's first release with such files had it. */
      metricsHost: z.string().nullish(),
      /** Shorthand for the label `llm-d.ai/role`. */
      role: z.enum(ROLES).optional(),
    })
    .refine(({ role, labels }) => (role ?? labels[ROLE_LABEL]) === (labels[ROLE_LABEL] ?? role), {
      path: ['role'],
      message: `differs from the label ${ROLE_LABEL}; keep one of the two`,
    })
    .refine(({ labels }) => isRankCount(Number(labels[RANK_COUNT_LABEL] ?? 1)), {
      path: ['labels', RANK_COUNT_LABEL],
      message: `must be the number of data-parallel ranks, from 1 to ${ENGINE_COUNT_MAX}`,
    })
    .refine(
      ({ metricsHost, address, port }) =>
        !metricsHost || usualHostPort(metricsHost) === hostPort(address, port),
      {
        path: ['metricsHost'],
        message:
          'is not address and port, where metrics are read: give the other port to metrics-data-source',
      },
    ),
);

/** Reads the YAML or JSON text of an endpoints file. Throws ConfigError that lists every error. */
export function parseEndpoints(text: string, source: string): EndpointsList {
  // A character is at least one byte. The size in bytes is checked where the file is read.
  if (text.length > FILE_BYTES_MAX) {
    const message = `has ${text.length} characters; at most ${FILE_BYTES_MAX} are read`;
    throw new ConfigError(source, [{ path: 'file', message }]);
  }
  const value = readYaml(text, source);
  const other = otherPurpose(value, { field: 'endpoints', noun: 'list of endpoints' });
  if (other !== undefined) throw new ConfigError(source, [{ path: 'file', message: other }]);
  const file = fileSchema.safeParse(value);
  if (!file.success) {
    const faults = zodIssues(file.error, { schema: fileSchema });
    throw new ConfigError(source, withLines(text, faults));
  }
  const { specs, issues } = readEntries(file.data.endpoints);
  if (issues.length > 0) throw new ConfigError(source, withLines(text, issues));
  const { objectives, modelRewrites } = file.data;
  return {
    endpoints: [...specs.values()],
    priorities: new Map(Object.entries(objectives)),
    rewrites: modelRewrites.map(({ name: rule, models, targets }, index) => ({
      rule: rule ?? `modelRewrites[${index}]`,
      models,
      targets,
    })),
  };
}

/** The endpoints by the paths of their entries, and what is wrong with the others. */
function readEntries(entries: readonly unknown[]): {
  readonly specs: ReadonlyMap<string, EndpointSpec>;
  readonly issues: readonly ConfigIssue[];
} {
  const issues: ConfigIssue[] = [];
  const specs = new Map<string, EndpointSpec>();
  for (const [index, raw] of entries.entries()) {
    const path = `endpoints[${index}]`;
    const entry = entrySchema.safeParse(raw);
    if (entry.success) specs.set(path, specOf(entry.data));
    else {
      // Not spread into one call: there may be more issues than a call takes arguments.
      for (const issue of zodIssues(entry.error, { schema: entrySchema, at: path }))
        issues.push(issue);
    }
  }
  for (const issue of duplicatesIn(specs)) issues.push(issue);
  return { specs, issues };
}

function specOf(entry: z.infer<typeof entrySchema>): EndpointSpec {
  const { name, namespace, address, port, role, labels } = entry;
  return {
    id: `${namespace}/${name}` as EndpointId,
    address: hostPort(address, port),
    labels: new Map(
      Object.entries(role === undefined ? labels : { ...labels, [ROLE_LABEL]: role }),
    ),
  };
}

function duplicatesIn(specs: ReadonlyMap<string, EndpointSpec>): readonly ConfigIssue[] {
  const seen = new Map<string, string>();
  const issues: ConfigIssue[] = [];
  for (const [path, { id, address }] of specs) {
    for (const what of [`name ${id}`, `address ${address}`]) {
      const first = seen.get(what);
      if (first === undefined) seen.set(what, path);
      else issues.push({ path, message: `has the same ${what} as ${first}; give it another` });
    }
  }
  return issues;
}
