import type { RemoteKv } from '../engine/sequence.ts';
import { type DecodeLeg, type KvLegs, kvLegsOf } from '../pd/kv-contract.ts';
import { ApiError } from './api-error.ts';
import type { GenerationTerms } from './generation-request.ts';
import { pullRemote } from './pull-remote.ts';
import type { Replica } from './replica.ts';

/** Servers of this process by `host:port`. */
export type ReplicaDirectory = (address: string) => Replica | undefined;

/** A prompt of a request, as far as its KV goes. */
export interface PromptKv {
  readonly tokens: number;
  readonly hashes: ArrayLike<number>;
}

/** Which leg of a disaggregated request this is. Throws ApiError. */
export function legsOfRequest(
  { kv }: GenerationTerms,
  { replica, requestId }: { readonly replica: Replica; readonly requestId: string },
): KvLegs {
  const { role } = replica.options;
  try {
    return kvLegsOf(kv, { engineId: engineIdOf(replica), requestId, role });
  } catch (error) {
    throw new ApiError(400, error instanceof Error ? error.message : String(error));
  }
}

/** Other processes have servers of the same names. */
export function engineIdOf({ name, address }: Replica): string {
  return `${name}@${address}`;
}

/** Where the KV of a prompt comes from, if not from its own server: from a prefill leg, or from the shared store. */
export function remoteKvOf(
  prompt: PromptKv,
  {
    replica,
    decode,
    find,
  }: {
    readonly replica: Replica;
    readonly decode: DecodeLeg | undefined;
    readonly find: ReplicaDirectory;
  },
): RemoteKv | undefined {
  if (decode === undefined) return storedKvOf(prompt, replica);
  return {
    tokens: prompt.tokens,
    start: (tokens, ready, fail) => {
      const { key, address, patient } = decode;
      const peer = address === undefined ? undefined : find(address);
      if (address !== undefined && peer === undefined && !replica.exchange.knows(key)) {
        void pullRemote(address, { key, tokens, patient }).then((came) =>
          came ? ready() : fail(),
        );
      } else if (peer !== undefined && peer.faults.reception !== 'serve') fail();
      else replica.exchange.fetch(key, { tokens, to: replica.port, ready, fail }, { patient });
    },
  };
}

function storedKvOf({ hashes }: PromptKv, replica: Replica): RemoteKv | undefined {
  const { store, engine, fabric, port } = replica;
  if (store === undefined) return undefined;
  const stored = store.leading(hashes);
  if (stored <= locallyCached(hashes, replica)) return undefined;
  return {
    tokens: stored * engine.kv.blockTokens,
    start: (tokens, ready) => fabric.send({ tokens, to: port }, ready),
  };
}

/** Share of a prompt that need not be computed here, 0 to 1. */
export function hitShare({ tokens, hashes }: PromptKv, replica: Replica): number {
  const blocks = Math.max(locallyCached(hashes, replica), replica.store?.leading(hashes) ?? 0);
  return (blocks * replica.engine.kv.blockTokens) / tokens;
}

function locallyCached(hashes: ArrayLike<number>, { engine }: Replica): number {
  const { pool } = engine.kv;
  let blocks = 0;
  while (blocks < hashes.length && pool.find(hashes[blocks] as number) !== -1) blocks += 1;
  return blocks;
}
