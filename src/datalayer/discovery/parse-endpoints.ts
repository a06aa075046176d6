import { isIPv4, isIPv6 } from 'node:net';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import type { EndpointId } from '../../framework/endpoint.ts';
import { ConfigError, type ConfigIssue } from '../../framework/error.ts';
import type { EndpointSpec } from '../endpoint-pool.ts';

/** As the reference bounds its file; several thousand endpoints fit. */
const FILE_BYTES_MAX = 1024 * 1024;
const ROLE_LABEL = 'llm-d.ai/role';
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i;

const address = z
  .string()
  .transform((text) => text.replace(/^\[(.*)\]$/, '$1'))
  .refine(
    (text) => isIPv4(text) || isIPv6(text) || (HOST_NAME.test(text) && !/^[\d.]+$/.test(text)),
    'must be an IPv4 or IPv6 address or a host name, without a port',
  );
const port = z
  .union([z.int(), z.string().regex(/^\d+$/).transform(Number)], 'must be a port number')
  .refine((value) => value >= 1 && value <= 65_535, 'must be between 1 and 65535');

const fileSchema = z.strictObject({
  endpoints: z.array(
    z.strictObject({
      name: z.string().min(1),
      namespace: z.string().min(1).default('default'),
      address,
      port,
      labels: z.record(z.string(), z.string()).default({}),
      /** Short for the label `llm-d.ai/role`. */
      role: z
        .enum([
          'prefill',
          'decode',
          'both',
          'prefill-decode',
          'encode',
          'encode-prefill',
          'encode-prefill-decode',
        ])
        .optional(),
    }),
  ),
});

/** YAML or JSON text of an endpoints file to endpoints. Throws ConfigError that lists every problem in it. */
export function parseEndpoints(text: string, source: string): readonly EndpointSpec[] {
  if (text.length > FILE_BYTES_MAX) {
    throw new ConfigError(source, [
      { path: 'file', message: `has ${text.length} characters, more than ${FILE_BYTES_MAX}` },
    ]);
  }
  const document = parseDocument(text);
  if (document.errors.length > 0) {
    throw new ConfigError(
      source,
      document.errors.map(({ message }) => ({
        path: 'file',
        message: message.split('\n')[0] ?? message,
      })),
    );
  }
  const parsed = fileSchema.safeParse(document.toJS({ maxAliasCount: 100 }));
  if (!parsed.success) {
    throw new ConfigError(
      source,
      parsed.error.issues.map(({ path, message }) => ({ path: path.join('.') || 'file', message })),
    );
  }
  const specs = parsed.data.endpoints.map(({ name, namespace, role, labels, ...at }) => ({
    id: `${namespace}/${name}` as EndpointId,
    address: hostPort(at.address, at.port),
    labels: new Map(
      Object.entries(role === undefined ? labels : { ...labels, [ROLE_LABEL]: role }),
    ),
  }));
  const duplicates = duplicatesOf(specs);
  if (duplicates.length > 0) throw new ConfigError(source, duplicates);
  return specs;
}

export function hostPort(host: string, portNumber: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${portNumber}`;
}

function duplicatesOf(specs: readonly EndpointSpec[]): readonly ConfigIssue[] {
  const seen = new Map<string, number>();
  const issues: ConfigIssue[] = [];
  specs.forEach(({ id, address: at }, index) => {
    for (const what of [`name ${id}`, `address ${at}`]) {
      const first = seen.get(what);
      if (first === undefined) seen.set(what, index);
      else
        issues.push({
          path: `endpoints.${index}`,
          message: `${what} is that of endpoints.${first} too`,
        });
    }
  });
  return issues;
}
