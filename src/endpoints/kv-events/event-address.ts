import type { Endpoint } from '../../framework/endpoint.ts';
import type { PrecisePrefixConfig } from './precise-config.ts';

/** ZMQ addresses of an endpoint's publisher; `replay` is undefined without a replay socket. */
export interface EventAddress {
  readonly events: string;
  readonly replay: string | undefined;
}

/** Labels that replace a configured port: with a port, or an address as `tcp://10.0.0.1:5557`. */
const EVENTS_LABEL = 'pointsman.dev/kv-events';
const REPLAY_LABEL = 'pointsman.dev/kv-events-replay';

/** By default the endpoint's host, and the configured port plus the data-parallel rank. */
export function eventAddress(
  { id, address, labels }: Endpoint,
  { socketPort, replaySocketPort }: PrecisePrefixConfig,
): EventAddress {
  const host = address.slice(0, address.lastIndexOf(':'));
  const rank = Number(/-rank-(\d+)$/.exec(id)?.[1] ?? 0);
  const addressOf = (label: string, port: number | undefined): string | undefined => {
    const given = labels.get(label);
    if (given !== undefined && given.includes('://')) return given;
    if (given !== undefined && /^\d+$/.test(given)) return `tcp://${host}:${given}`;
    return port === undefined ? undefined : `tcp://${host}:${port + rank}`;
  };
  return {
    events: addressOf(EVENTS_LABEL, socketPort) ?? `tcp://${host}:${socketPort}`,
    replay: addressOf(REPLAY_LABEL, replaySocketPort),
  };
}
