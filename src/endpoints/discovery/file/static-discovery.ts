import type { EndpointId } from '../../../framework/endpoint.ts';
import { ConfigError } from '../../../framework/error.ts';
import type { EndpointSpec } from '../../../picker/pool/endpoint-pool.ts';
import { isHostPort, isUnspecified, splitHostPort, usualHostPort } from './host-port.ts';

/** Endpoints given as `host:port`. Throws ConfigError that lists every bad or repeated one. */
export function parseStaticEndpoints(list: readonly string[]): readonly EndpointSpec[] {
  const addresses = list.map((text) => (isHostPort(text) ? usualHostPort(text) : text));
  const issues = list.flatMap((text, index) => {
    const message = problemOf(text, addresses.indexOf(addresses[index] ?? text) < index);
    return message === undefined ? [] : [{ path: `--endpoints[${index}]`, message }];
  });
  if (issues.length > 0) throw new ConfigError('command line', issues);
  return addresses.map((address) => ({
    id: `default/${address}` as EndpointId,
    address,
    labels: new Map(),
  }));
}

function problemOf(text: string, repeated: boolean): string | undefined {
  if (!isHostPort(text)) {
    const [, port] = /:(\d+)$/.exec(text) ?? [];
    if (port !== undefined && isHostPort(text.replace(/\d+$/, '1'))) {
      return `${JSON.stringify(text)} has the port ${port}, which is none: give one from 1 to 65535`;
    }
    return `${JSON.stringify(text)} is not host:port, such as 10.0.0.1:8000 or [fd00::1]:8000`;
  }
  if (isUnspecified(splitHostPort(text).host)) {
    return `${text} is an address to listen on, and names no server: give the server’s own, such as 127.0.0.1 on this machine`;
  }
  return repeated ? `${text} is given twice; leave one of them` : undefined;
}
