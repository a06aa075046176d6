import { randomInt } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import {
  ENCODE_HEADER,
  KV_SOURCE_HEADER,
  NEWER_SERVER_HEADERS,
  PREFILL_HEADER,
} from '../../framework/routing.ts';
import { portOf } from '../../framework/values/server-address.ts';
import { Refusal } from '../body/refusal.ts';
import type { Exchange } from './sidecar-parts.ts';

/** The header for the engine of another data-parallel rank of this pod. */
const RANK_SERVER_HEADER = 'x-data-parallel-host-port';

/** Headers by which a picker says which servers take part. They are not forwarded. */
export const SERVER_HEADERS: readonly string[] = [
  ...Object.entries(NEWER_SERVER_HEADERS).flat(),
  RANK_SERVER_HEADER,
];

/**
 * The prefilling server that the request names, if it names one. Throws a Refusal if it may not.
 */
export function namedPrefiller({ request, options, metrics }: Exchange): string | undefined {
  const named = serversIn(request.headers, PREFILL_HEADER);
  const prefiller =
    named[options.samplePrefillers && named.length > 1 ? randomInt(named.length) : 0];
  if (prefiller === undefined) return undefined;
  if (options.prefillers(prefiller)) return prefiller;
  metrics.onStage('prefill', 'denied');
  const message = `${PREFILL_HEADER} names ${prefiller}, which is not allowed: see --prefillers`;
  throw new Refusal(403, message);
}

/** The encoders that the request names and may use. */
export function namedEncoders({ request, options, metrics }: Exchange): readonly string[] {
  if (options.ecConnector === 'none') return [];
  const named = serversIn(request.headers, ENCODE_HEADER);
  const allowed = named.filter((each) => options.encoders(each));
  if (allowed.length < named.length) metrics.onStage('encode', 'denied');
  return allowed;
}

/** The server that the request names to take cached blocks from, if engines here can. */
export function namedKvSource({ request, options }: Exchange): string | undefined {
  const { connector, p2pPull } = options;
  if (connector !== 'offloading' && !(connector === 'nixlv2' && p2pPull)) return undefined;
  const [source] = serversIn(request.headers, KV_SOURCE_HEADER);
  return source !== undefined && options.prefillers(source) ? source : undefined;
}

/** The data-parallel rank of this pod that the request names; undefined without one. */
export function namedRank(headers: IncomingHttpHeaders, firstPort: number): number | undefined {
  const [server] = serversIn(headers, RANK_SERVER_HEADER);
  if (server === undefined) return undefined;
  return Number(portOf(server)) - firstPort;
}

/**
 * Servers of a header that may be repeated or hold a list; its newer name counts first. Some
 * pickers write a scheme before them.
 */
function serversIn(headers: IncomingHttpHeaders, name: string): readonly string[] {
  const value = headers[NEWER_SERVER_HEADERS[name] ?? name] ?? headers[name] ?? '';
  return String(value)
    .split(',')
    .map((each) => each.trim().replace(/^https?:\/\//, ''))
    .filter((each) => each !== '');
}
