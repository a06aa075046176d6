import type { KvTransferParams } from '../http/generation-request.ts';
import type { Replica } from '../http/replica.ts';
import type { RemoteKv } from '../sequence.ts';

/** Whoever can be reached by an engine id: servers of this process. */
export type ReplicaDirectory = (engineId: string) => Replica | undefined;

/** What a finished prefill tells its decode leg, as vLLM's NIXL connector does. */
export function prefillAnswer(replica: Replica, requestId: string, blocks: number): object {
  const separator = replica.address.lastIndexOf(':');
  return {
    do_remote_prefill: true,
    do_remote_decode: false,
    remote_block_ids: Array.from({ length: blocks }, (_, index) => index),
    remote_engine_id: replica.name,
    remote_request_id: requestId,
    remote_host: replica.address.slice(0, separator),
    remote_port: Number(replica.address.slice(separator + 1)),
    tp_size: 1,
  };
}

/**
 * The decode leg of a prompt that another server has computed: undefined when the parameters ask for none. From a server
 * nobody knows nothing comes, and the request fails as it would with a peer that is gone.
 */
export function remoteKvOf(
  params: KvTransferParams | undefined,
  { promptTokens, find }: { readonly promptTokens: number; readonly find: ReplicaDirectory },
): RemoteKv | undefined {
  if (params?.do_remote_prefill !== true) return undefined;
  const engineId = params.remote_engine_id ?? '';
  const requestId = params.remote_request_id ?? '';
  return {
    tokens: promptTokens,
    start: (tokens, ready, fail) => {
      const source = find(engineId);
      if (source?.transfers.pull(requestId, tokens, ready) !== true) fail();
    },
  };
}
