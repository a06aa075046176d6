/** `kv_transfer_params` of a body, of whichever connector. */
export interface KvTransferParams {
  readonly do_remote_decode?: boolean | null | undefined;
  readonly do_remote_prefill?: boolean | null | undefined;
  readonly remote_engine_id?: string | null | undefined;
  readonly remote_request_id?: string | null | undefined;
  readonly remote_host?: string | null | undefined;
  readonly remote_port?: number | null | undefined;
  readonly remote_block_ids?: readonly number[] | null | undefined;
  /** Mooncake's and MoRI-IO's. */
  readonly transfer_id?: string | null | undefined;
  readonly remote_bootstrap_addr?: string | null | undefined;
  /** Of offloading between peers. */
  readonly remote_decoder?: { readonly kv_request_id: string } | null | undefined;
  readonly remote_prefiller?:
    | {
        readonly kv_request_id: string;
        readonly remote_host?: string | null | undefined;
        readonly remote_port?: number | null | undefined;
      }
    | null
    | undefined;
}

/** What a body says of disaggregation. */
export interface KvAsked {
  readonly params: KvTransferParams | undefined;
  /** SGLang's `bootstrap_room`, the same on both legs. */
  readonly room: number | string | undefined;
}

/** What a server does for others in a disaggregated pool. Only SGLang's contract needs to know. */
export type ServerRole = 'both' | 'prefill' | 'decode';

export interface PrefillLeg {
  /** Known to both legs. */
  readonly key: string;
  /** The router asks for the whole answer and throws it away: only the first token is made. */
  readonly onlyPrefill: boolean;
  /** The answer tells the decode leg where to pull from. */
  readonly tells: boolean;
}

export interface DecodeLeg {
  readonly key: string;
  /** Both legs are sent at once, so the prefill leg may come later. */
  readonly patient: boolean;
  /** `host:port` of the server that prefills, where the contract says it. */
  readonly address: string | undefined;
}

export interface KvLegs {
  readonly prefill?: PrefillLeg | undefined;
  readonly decode?: DecodeLeg | undefined;
}

/** Which leg of which contract a request is, if any. Throws an Error with what is wrong. */
export function kvLegsOf(
  { params, room }: KvAsked,
  server: { readonly engineId: string; readonly requestId: string; readonly role: ServerRole },
): KvLegs {
  if (room !== undefined) return sglangLegs(room, server.role);
  if (params === undefined) return {};
  const { transfer_id: transferId, remote_decoder: decoder, remote_prefiller: prefiller } = params;
  if (decoder) return prefillOf(`peer/${decoder.kv_request_id}`);
  if (prefiller) {
    return decodeOf(`peer/${prefiller.kv_request_id}`, {
      patient: true,
      address: addressOf(prefiller),
    });
  }
  const remote = params.do_remote_prefill === true;
  if (params.do_remote_decode !== true && !remote) return {};
  if (transferId) {
    const key = `transfer/${transferId}`;
    const address = withoutScheme(params.remote_bootstrap_addr) ?? addressOf(params);
    return remote ? decodeOf(key, { patient: true, address }) : prefillOf(key);
  }
  if (!remote) return prefillOf(`nixl/${server.engineId}/${server.requestId}`, { tells: true });
  return decodeOf(`nixl/${params.remote_engine_id ?? ''}/${params.remote_request_id ?? ''}`, {
    patient: false,
    address: addressOf(params),
  });
}

function sglangLegs(room: number | string, role: ServerRole): KvLegs {
  const key = `room/${room}`;
  switch (role) {
    case 'prefill':
      return prefillOf(key, { onlyPrefill: true });
    case 'decode':
      return decodeOf(key, { patient: true, address: undefined });
    case 'both':
      throw new Error(
        'bootstrap_room: this server is neither for prefill nor for decode; start it with a role',
      );
  }
}

function prefillOf(key: string, how: { onlyPrefill?: boolean; tells?: boolean } = {}): KvLegs {
  return { prefill: { key, onlyPrefill: how.onlyPrefill ?? false, tells: how.tells ?? false } };
}

function decodeOf(key: string, how: Omit<DecodeLeg, 'key'>): KvLegs {
  return { decode: { key, ...how } };
}

function addressOf(at: {
  readonly remote_host?: string | null | undefined;
  readonly remote_port?: number | null | undefined;
}): string | undefined {
  return at.remote_host && at.remote_port ? `${at.remote_host}:${at.remote_port}` : undefined;
}

function withoutScheme(address: string | null | undefined): string | undefined {
  return address?.replace(/^\w+:\/\//, '').replace(/\/.*$/, '') || undefined;
}

/** What a finished prefill tells its decode leg, as vLLM's NIXL connector does. */
export function nixlAnswer(server: {
  readonly engineId: string;
  readonly requestId: string;
  readonly address: string;
  readonly blocks: number;
}): KvTransferParams & { readonly tp_size: number } {
  const separator = server.address.lastIndexOf(':');
  return {
    do_remote_prefill: true,
    do_remote_decode: false,
    remote_block_ids: Array.from({ length: server.blocks }, (_, index) => index),
    remote_engine_id: server.engineId,
    remote_request_id: server.requestId,
    remote_host: server.address.slice(0, separator),
    remote_port: Number(server.address.slice(separator + 1)),
    tp_size: 1,
  };
}
