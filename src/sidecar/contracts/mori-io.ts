import { createHash, randomUUID } from 'node:crypto';
import { bareHostOf } from '../../framework/values/server-address.ts';
import type { JsonObject } from '../../openai/json/json-object.ts';
import { cappedToOneToken, withTransfer } from '../body/generation-api.ts';
import { type Asked, type KvContract, type Leg, type Legs } from './kv-contract.ts';
import { RANK_HEADER } from './mooncake.ts';
import { answered, KEEP_KV_FOR_DECODER } from './nixl.ts';
import { kvSourceParams, type PeerPorts } from './offloading.ts';

/** The addresses at which the two sides of MoRI-IO's WRITE mode find each other. */
export interface MoriIoOptions {
  /** The address of this pod, which the prefilling server writes to. */
  readonly localHost: () => string;
  readonly notifyPort: number;
  readonly handshakePort: number;
  readonly prefillNotifyPort: number;
  readonly prefillHandshakePort: number;
  readonly tensorParallelSize: number;
  readonly dataParallelSize: number;
  /** Ranks of one pod, where the ranks are spread over several; else 0. */
  readonly dataParallelSizeLocal: number;
  /** The pods of the decoding side, by rank; none where there is one. */
  readonly decodeHosts: () => readonly string[];
  /** The pods of the prefilling side, by rank; none where there is one. */
  readonly prefillHosts: () => readonly string[];
  /** Whether both legs are sent at once. */
  readonly atOnce: boolean;
}

/**
 * MoRI-IO in WRITE mode, over NIXL's fields: the prefilling server writes the KV into the decoding
 * one. Both legs name the same data-parallel rank.
 */
export function moriIoContract(options: MoriIoOptions, ports: PeerPorts): KvContract {
  return {
    name: 'nixlv2',
    decodesFirst: false,
    countsCached: true,
    legsOf: (asked) => legsOf(asked, options, ports),
  };
}

function legsOf(asked: Asked, options: MoriIoOptions, ports: PeerPorts): Legs {
  const { body, api, kvSource } = asked;
  const id = randomUUID();
  const rank = rankOf(id, options.dataParallelSize);
  const common = { ...rankParams(rank), transfer_id: `tx${id}`, ...sizesOf(options) };
  const write = {
    ...KEEP_KV_FOR_DECODER,
    remote_host: options.localHost(),
    remote_notify_port: options.notifyPort,
    remote_handshake_port: options.handshakePort,
    ...common,
    ...hostsOf(options.decodeHosts(), options),
    ...kvSourceParams(kvSource, ports),
  };
  const params = JSON.stringify(write);
  return {
    atOnce: options.atOnce,
    prefill: {
      body: cappedToOneToken(body, api, { kv_transfer_params: params }),
      headers: rankHeader(rank, options),
    },
    decode: (params) =>
      options.atOnce
        ? decodeAtOnce(asked, common, rank, options)
        : decodeAfter(asked, { said: answered(params), rank, common }, options),
  };
}

/** Without an answer of the prefilling server: all that it would say is configured. */
function decodeAtOnce(
  { body, api, prefiller }: Asked,
  common: object,
  rank: number,
  options: MoriIoOptions,
): Leg {
  const host = bareHostOf(prefiller);
  const port = options.prefillHandshakePort;
  const params = {
    do_remote_prefill: true,
    do_remote_decode: false,
    remote_engine_id: `${host.includes(':') ? `[${host}]` : host}:${port}`,
    // This side allocates its blocks itself.
    remote_block_ids: [],
    remote_host: host,
    remote_port: port,
    remote_notify_port: options.prefillNotifyPort,
    remote_handshake_port: port,
    ...common,
    ...hostsOf(options.prefillHosts(), options),
  };
  return {
    body: withTransfer(body, api, { kv_transfer_params: JSON.stringify(params) }),
    headers: rankHeader(rank, options),
  };
}

/** With the answer's parameters, and those that the prefilling engine does not repeat. */
function decodeAfter(
  { body, api }: Asked,
  { said, rank, common }: { said: JsonObject; rank: number; common: object },
  options: MoriIoOptions,
): Leg {
  const used = rankIn(said, options.dataParallelSize) ?? rank;
  const { tp_size: _size, ...shared } = common as Readonly<Record<string, unknown>>;
  const missing = Object.entries({
    ...shared,
    remote_notify_port: options.notifyPort,
    remote_handshake_port: options.handshakePort,
    ...hostsOf(options.prefillHosts(), options),
  }).filter(([name]) => said.member(name) === undefined);
  const params = said.with({
    ...Object.fromEntries(missing.map(([name, value]) => [name, JSON.stringify(value)])),
    remote_dp_rank: String(used),
    remote_dp_rank_override: 'true',
  });
  return {
    body: withTransfer(body, api, { kv_transfer_params: params }),
    headers: rankHeader(used, options),
  };
}

/** The rank that a request's id gives, as MoRI-IO's proxies do: its hash modulo the ranks. */
export function rankOf(id: string, ranks: number): number {
  if (ranks <= 1) return 0;
  const hash = createHash('blake2s256').update(id).digest();
  return Number(hash.readBigUInt64BE(0) % BigInt(ranks));
}

/** The rank that the prefilling server says it has used; undefined unless it can be one. */
function rankIn(params: JsonObject, ranks: number): number | undefined {
  const text = params.member('remote_dp_rank')?.toString() ?? '';
  const rank = /^\d{1,9}$/.test(text) ? Number(text) : ranks;
  return rank < ranks ? rank : undefined;
}

function rankParams(rank: number): object {
  return { remote_dp_rank: rank, remote_dp_rank_override: true };
}

function sizesOf({ tensorParallelSize, dataParallelSize }: MoriIoOptions): object {
  return { tp_size: tensorParallelSize, remote_dp_size: dataParallelSize };
}

function hostsOf(hosts: readonly string[], { dataParallelSizeLocal }: MoriIoOptions): object {
  if (hosts.length === 0) return {};
  const local = dataParallelSizeLocal > 0 && { remote_dp_size_local: dataParallelSizeLocal };
  return { remote_hosts: hosts, ...local };
}

function rankHeader(
  rank: number,
  { dataParallelSize, dataParallelSizeLocal }: MoriIoOptions,
): Readonly<Record<string, string>> {
  if (dataParallelSize <= 1) return {};
  // The servers of one pod count their ranks from 0.
  const ofPod = dataParallelSizeLocal > 0 ? rank % dataParallelSizeLocal : rank;
  return { [RANK_HEADER]: String(ofPod) };
}
