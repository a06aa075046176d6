import { ENCODE_HEADER, PREFILL_HEADER } from '../../framework/stage-headers.ts';

/**
 * Headers by which we steer a request, besides the destination, which every pick sets. A client that sends one could
 * send its request, or a model server's KV cache, where it likes, so they are taken off before the request leaves,
 * unless the pick sets them itself.
 */
export const CONTROL_HEADERS: readonly string[] = [
  'x-gateway-destination-endpoint-subset',
  'x-gateway-destination-endpoint-served',
  'x-gateway-destination-endpoint-scores',
  PREFILL_HEADER,
  ENCODE_HEADER,
  'x-data-parallel-host-port',
  'x-kv-cache-source-host-port',
];
