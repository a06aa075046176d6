import type { Endpoint } from '../../framework/endpoint.ts';
import type { EventAddress } from './endpoint-events.ts';
import type { PrecisePrefixConfig } from './precise-config.ts';

/** Where an endpoint publishes, if not at the configured port: a port, or an address such as `tcp://10.0.0.1:5557`. */
export const EVENTS_LABEL = 'pointsman.dev/kv-events';
export const REPLAY_LABEL = 'pointsman.dev/kv-events-replay';

/**
 * The endpoint's own host and the configured ports, one further for each data-parallel rank, as vLLM counts them and
 * the reference expects them; a label says otherwise.
 */
export function eventAddress(
  { id, address, labels }: Endpoint,
  { socketPort, replaySocketPort }: PrecisePrefixConfig,
): EventAddress {
  const host = address.slice(0, address.lastIndexOf(':'));
  const rank = Number(/-rank-(\d+)$/.exec(id)?.[1] ?? 0);
  const at = (label: string, port: number | undefined): string | undefined => {
    const told = labels.get(label);
    if (told !== undefined && told.includes('://')) return told;
    if (told !== undefined && /^\d+$/.test(told)) return `tcp://${host}:${told}`;
    return port === undefined ? undefined : `tcp://${host}:${port + rank}`;
  };
  return {
    events: at(EVENTS_LABEL, socketPort) ?? `tcp://${host}:${socketPort}`,
    replay: at(REPLAY_LABEL, replaySocketPort),
  };
}
