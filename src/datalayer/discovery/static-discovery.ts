import type { EndpointId } from '../../framework/endpoint.ts';
import { ConfigError } from '../../framework/error.ts';
import type { EndpointSpec } from '../endpoint-pool.ts';

/** Endpoints given on the command line as `host:port`, an IPv6 host in brackets. Throws ConfigError on any that is not. */
export function parseStaticEndpoints(list: readonly string[]): readonly EndpointSpec[] {
  const issues = list.flatMap((text, index) => {
    const port = Number(/:(\d+)$/.exec(text)?.[1]);
    const host = text.slice(0, text.lastIndexOf(':'));
    const wellFormed = host !== '' && (!host.includes(':') || /^\[.*\]$/.test(host));
    return wellFormed && port >= 1 && port <= 65_535
      ? []
      : [
          {
            path: `--endpoints[${index}]`,
            message: `${text} is not host:port (IPv6 as [host]:port)`,
          },
        ];
  });
  if (issues.length > 0) throw new ConfigError('command line', issues);
  return [...new Set(list)].map((address) => ({
    id: `default/${address}` as EndpointId,
    address,
    labels: new Map(),
  }));
}
