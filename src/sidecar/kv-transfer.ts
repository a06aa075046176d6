import { isObject, type Json } from './client-body.ts';

/** What NIXL's connector expects in a request whose KV another server will read. */
const KEEP_KV_FOR_DECODER = {
  do_remote_decode: true,
  do_remote_prefill: false,
  remote_engine_id: null,
  remote_block_ids: null,
  remote_host: null,
  remote_port: null,
};
const CAPS: readonly string[] = ['max_tokens', 'max_completion_tokens', 'min_tokens'];

/** For one unstreamed token: every cap that the client has set becomes 1. */
export function prefillBody(body: Json): Json {
  const { stream_options: _options, ...rest } = body;
  const caps = CAPS.filter((key) => key in body).map((key) => [key, 1] as const);
  return {
    ...rest,
    ...Object.fromEntries(caps),
    stream: false,
    max_tokens: 1,
    kv_transfer_params: KEEP_KV_FOR_DECODER,
  };
}

/**
 * The client's request with the prefilling server's answer about where the KV is. Throws where the
 * answer does not say it.
 */
export function decodeBody(body: Json, { kv_transfer_params: params }: Json): Json {
  if (!isObject(params)) throw new Error('answered without kv_transfer_params');
  return { ...body, kv_transfer_params: params };
}
