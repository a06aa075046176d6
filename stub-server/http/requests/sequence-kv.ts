import { messageOf } from '../../../src/framework/error.ts';
import { http } from '../../../src/runtime/network/server/node-http.ts';
import type { RemoteKv } from '../../engine/kv-cache/cached-sequence.ts';
import { type DecodeLeg, type KvLegs, kvLegsOf } from '../../pd/kv-legs.ts';
import { ApiError } from '../replica/api-error.ts';
import type { StubReplica } from '../replica/stub-replica.ts';
import type { GenerationTerms } from './read-generation.ts';

/** Finds a server of this process by `host:port`. */
export type ReplicaDirectory = (address: string) => StubReplica | undefined;

/** The path on which a server sends KV to servers of other processes. */
export const PULL_PATH = '/stub/kv';

/** vLLM's `kv_recompute_threshold`. */
const RECOMPUTED_TOKENS = 64;

/** The KV of a prompt. */
export interface PromptKv {
  readonly tokens: number;
  readonly hashes: ArrayLike<number>;
}

/** Finds which leg of a disaggregated request this is. Throws ApiError. */
export function legsOfRequest(
  { kv }: GenerationTerms,
  { replica, requestId }: { readonly replica: StubReplica; readonly requestId: string },
): KvLegs {
  const { role, bidirectionalKv: bidirectional } = replica.options;
  try {
    return kvLegsOf(kv, { engineId: engineIdOf(replica), requestId, role, bidirectional });
  } catch (error) {
    throw new ApiError(400, messageOf(error));
  }
}

/** Includes the address because servers of other processes can have the same names. */
export function engineIdOf({ name, address }: StubReplica): string {
  return `${name}@${address}`;
}

/** The source of a prompt's KV outside this server: a prefill leg or the shared store, if any. */
export function remoteKvOf(
  prompt: PromptKv,
  parts: {
    readonly replica: StubReplica;
    readonly decode: DecodeLeg | undefined;
    readonly findReplica: ReplicaDirectory;
  },
): RemoteKv | undefined {
  const { replica, decode, findReplica } = parts;
  if (decode === undefined) return storedKvOf(prompt, replica);
  const { tokens: held = prompt.tokens } = decode;
  const had = locallyCached(prompt.hashes, replica) * replica.engine.kv.blockTokens;
  // The KV of an earlier turn is computed again where it has gone, or is little.
  const isEarlier = decode.tokens !== undefined;
  if (isEarlier && (held - had < RECOMPUTED_TOKENS || isGone(decode, replica, findReplica))) {
    return storedKvOf(prompt, replica);
  }
  return {
    tokens: Math.min(held, prompt.tokens),
    start: (tokens, ready, fail) => {
      const { key, address, patient } = decode;
      const peer = address === undefined ? undefined : findReplica(address);
      if (address !== undefined && peer === undefined && !replica.exchange.knows(key)) {
        pull(address, { key, tokens, patient }, { ready, fail });
      } else if (peer !== undefined && peer.faults.reception !== 'serve') fail();
      else replica.exchange.fetch(key, { tokens, to: replica.port, ready, fail }, { patient });
    },
  };
}

/** Whether a server of this process no longer holds the KV; others are asked. */
function isGone(
  { key, address }: DecodeLeg,
  { exchange }: StubReplica,
  findReplica: ReplicaDirectory,
): boolean {
  const isHere = address === undefined || findReplica(address) !== undefined;
  return isHere && !exchange.knows(key);
}

/** Requests KV from a server of another process, which answers when it has sent the tokens. */
function pull(
  address: string,
  wanted: { readonly key: string; readonly tokens: number; readonly patient: boolean },
  { ready, fail }: Readonly<Record<'ready' | 'fail', () => void>>,
): void {
  const body = JSON.stringify(wanted);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  http
    .request(`http://${address}${PULL_PATH}`, { method: 'POST', headers }, (answer) => {
      answer.resume();
      if (answer.statusCode === 200) ready();
      else fail();
    })
    .on('error', fail)
    .end(body);
}

function storedKvOf({ hashes }: PromptKv, replica: StubReplica): RemoteKv | undefined {
  const { store, engine, exchange, port } = replica;
  if (store === undefined) return undefined;
  const stored = store.leading(hashes);
  if (stored <= locallyCached(hashes, replica)) return undefined;
  return {
    tokens: stored * engine.kv.blockTokens,
    start: (tokens, ready) => exchange.fabric.send({ tokens, to: port }, ready),
  };
}

/** Share of a prompt that is cached here or in the shared store, 0 to 1. */
export function hitShare({ tokens, hashes }: PromptKv, replica: StubReplica): number {
  const blocks = Math.max(locallyCached(hashes, replica), replica.store?.leading(hashes) ?? 0);
  return (blocks * replica.engine.kv.blockTokens) / tokens;
}

/** Number of leading blocks in the server's own cache. */
function locallyCached(hashes: ArrayLike<number>, { engine }: StubReplica): number {
  const { pool } = engine.kv;
  let blocks = 0;
  while (blocks < hashes.length && pool.find(hashes[blocks] as number) !== undefined) blocks += 1;
  return blocks;
}
