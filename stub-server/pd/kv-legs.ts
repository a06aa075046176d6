import { hostOf, portOf } from '../../src/framework/values/server-address.ts';

interface RemoteAddress {
  readonly remote_host?: string | null | undefined;
  readonly remote_port?: number | null | undefined;
}

/** `kv_transfer_params` of a request body, for all connectors. */
interface KvTransferParams extends RemoteAddress {
  readonly do_remote_decode?: boolean | null | undefined;
  readonly do_remote_prefill?: boolean | null | undefined;
  readonly remote_engine_id?: string | null | undefined;
  readonly remote_request_id?: string | null | undefined;
  readonly remote_block_ids?: readonly unknown[] | null | undefined;
  readonly remote_num_tokens?: number | null | undefined;
  /** For Mooncake and MoRI-IO. */
  readonly transfer_id?: string | null | undefined;
  readonly remote_bootstrap_addr?: string | null | undefined;
  /** For offloading between peers. */
  readonly remote_decoder?: { readonly kv_request_id: string } | null | undefined;
  readonly remote_prefiller?:
    | (RemoteAddress & { readonly kv_request_id: string })
    | null
    | undefined;
}

/** The fields of a request body that concern disaggregation. */
export interface KvFields {
  readonly params: KvTransferParams | undefined;
  /** SGLang's `bootstrap_room`, the same on both legs. */
  readonly room: number | string | undefined;
}

/** The role of a server in a disaggregated pool. Only SGLang's contract needs it. */
export type ServerRole = 'both' | 'prefill' | 'decode';

export interface PrefillLeg {
  /** Known to both legs. */
  readonly key: string;
  /** Only the first token is generated: the router requests the whole answer and discards it. */
  readonly onlyPrefill: boolean;
  /**
   * The leg that the answer's `kv_transfer_params` are for: that of the decoding server, or of the
   * server that computes the next turn; undefined: the answer has none.
   */
  readonly paramsFor: 'decode' | 'next turn' | undefined;
}

export interface DecodeLeg {
  readonly key: string;
  /** Whether to wait for the prefill leg: both legs are sent at once, so it can arrive later. */
  readonly patient: boolean;
  /** `host:port` of the server that holds the KV, if the contract has it. */
  readonly address: string | undefined;
  /** The tokens that it has; undefined: the prompt's. */
  readonly tokens?: number | undefined;
}

export interface KvLegs {
  readonly prefill?: PrefillLeg | undefined;
  readonly decode?: DecodeLeg | undefined;
}

/** The server that got the request. */
interface AskedServer {
  readonly engineId: string;
  readonly requestId: string;
  readonly role: ServerRole;
  readonly bidirectional: boolean;
}

/** Finds which leg of which contract a request is, if any. Throws Error if it is invalid. */
export function kvLegsOf({ params, room }: KvFields, server: AskedServer): KvLegs {
  if (room !== undefined) return sglangLegs(room, server.role);
  if (params === undefined) return {};
  const { transfer_id: transferId, remote_decoder: decoder, remote_prefiller: prefiller } = params;
  if (decoder) return prefillLeg(`peer/${decoder.kv_request_id}`);
  if (prefiller) {
    const address = addressOf(prefiller);
    return { decode: { key: `peer/${prefiller.kv_request_id}`, patient: true, address } };
  }
  const remote = params.do_remote_prefill === true;
  if (params.do_remote_decode !== true && !remote) return {};
  if (transferId) {
    const key = `transfer/${transferId}`;
    const address = withoutScheme(params.remote_bootstrap_addr) ?? addressOf(params);
    return remote ? { decode: { key, patient: true, address } } : prefillLeg(key);
  }
  return nixlLegs(params, server, remote ? 'decode' : 'prefill');
}

function nixlLegs(
  params: NonNullable<KvFields['params']>,
  server: AskedServer,
  leg: keyof KvLegs,
): KvLegs {
  const own = `nixl/${server.engineId}/${server.requestId}`;
  const key = `nixl/${params.remote_engine_id ?? ''}/${params.remote_request_id ?? ''}`;
  const held: DecodeLeg = { key, patient: false, address: addressOf(params) };
  if (leg === 'decode') {
    // The engine that decodes holds its blocks, too, for the prefill leg of the next turn.
    const next = server.bidirectional ? prefillLeg(own, { paramsFor: 'next turn' }) : {};
    return { ...next, decode: held };
  }
  const { remote_num_tokens: tokens, remote_block_ids: blocks } = params;
  const takes = server.bidirectional && Boolean(tokens) && Boolean(blocks?.length);
  const earlier = takes ? { decode: { ...held, tokens: tokens ?? 0 } } : {};
  return { ...prefillLeg(own, { paramsFor: 'decode' }), ...earlier };
}

function sglangLegs(room: number | string, role: ServerRole): KvLegs {
  const key = `room/${room}`;
  switch (role) {
    case 'prefill':
      return prefillLeg(key, { onlyPrefill: true });
    case 'decode':
      return { decode: { key, patient: true, address: undefined } };
    case 'both':
      throw new Error(
        'bootstrap_room: this server is neither for prefill nor for decode; start it with a role',
      );
  }
}

function prefillLeg(key: string, how: Partial<PrefillLeg> = {}): KvLegs {
  return { prefill: { key, onlyPrefill: false, paramsFor: undefined, ...how } };
}

function addressOf({ remote_host: host, remote_port: port }: RemoteAddress): string | undefined {
  return host && port ? `${host}:${port}` : undefined;
}

function withoutScheme(address: string | null | undefined): string | undefined {
  return address?.replace(/^\w+:\/\//, '').replace(/\/.*$/, '') || undefined;
}

/**
 * The `kv_transfer_params` by which another server takes the KV of a request, as in vLLM's NIXL.
 */
export function nixlParams(server: {
  readonly engineId: string;
  readonly requestId: string;
  readonly address: string;
  /** With KV. */
  readonly tokens: number;
  readonly blockTokens: number;
  readonly paramsFor: 'decode' | 'next turn';
}): object {
  const blocks = Math.ceil(server.tokens / server.blockTokens);
  return {
    do_remote_prefill: server.paramsFor === 'decode',
    do_remote_decode: server.paramsFor === 'next turn',
    remote_block_ids: Array.from({ length: blocks }, (_, index) => index),
    remote_engine_id: server.engineId,
    remote_request_id: server.requestId,
    remote_host: hostOf(server.address),
    remote_port: Number(portOf(server.address)),
    ...(server.paramsFor === 'next turn' && { remote_num_tokens: server.tokens }),
    tp_size: 1,
  };
}
