import { dataParallelRank } from '../../framework/data-parallel-rank.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { hostOf } from '../../framework/values/server-address.ts';
import type { PrecisePrefixConfig } from './precise-config.ts';

/** ZMQ addresses of an endpoint's publisher; `replay` is undefined without a replay socket. */
export interface EventAddress {
  readonly events: string;
  readonly replay: string | undefined;
}

/** Labels that replace a configured port: with a port, or an address as `tcp://10.0.0.1:5557`. */
const EVENTS_LABEL = 'pointsman.dev/kv-events';
const REPLAY_LABEL = 'pointsman.dev/kv-events-replay';

/**
 * By default the endpoint's host, and the configured port plus the data-parallel rank. Ranks of one
 * server have its labels: there the port in a label is that of rank 0, too.
 */
export function eventAddress(
  endpoint: Endpoint,
  { socketPort, replaySocketPort }: PrecisePrefixConfig,
): EventAddress {
  const { id, address, labels } = endpoint;
  const own = dataParallelRank(endpoint) ?? 0;
  const host = hostOf(address);
  const rank = Number(/-rank-(\d+)$/.exec(id)?.[1] ?? 0);
  const addressOf = (label: string, port: number | undefined): string | undefined => {
    const given = labels.get(label);
    if (given !== undefined && given.includes('://')) return portMoved(given, own);
    if (given !== undefined && /^\d+$/.test(given)) return `tcp://${host}:${Number(given) + own}`;
    return port === undefined ? undefined : `tcp://${host}:${port + rank}`;
  };
  return {
    events: addressOf(EVENTS_LABEL, socketPort) ?? `tcp://${host}:${socketPort}`,
    replay: addressOf(REPLAY_LABEL, replaySocketPort),
  };
}

function portMoved(address: string, by: number): string {
  if (by === 0) return address;
  return address.replace(/\d+$/, (port) => String(Number(port) + by));
}
