/** What NIXL's connector asks the prefilling server for. */
const ASKED = {
  do_remote_decode: true,
  do_remote_prefill: false,
  remote_engine_id: null,
  remote_block_ids: null,
  remote_host: null,
  remote_port: null,
};

type Json = Readonly<Record<string, unknown>>;

/**
 * The request whose prompt is computed and kept for another server: one token, in one piece. What caps the answer is
 * lowered to it, whichever of the names the client has used.
 */
export function prefillBody(body: Json): Json {
  const { stream_options: _options, ...rest } = body;
  const caps = Object.keys(body).filter((key) => CAPS.has(key));
  return {
    ...rest,
    ...Object.fromEntries(caps.map((key) => [key, 1])),
    stream: false,
    max_tokens: 1,
    kv_transfer_params: ASKED,
  };
}

const CAPS: ReadonlySet<string> = new Set(['max_tokens', 'max_completion_tokens', 'min_tokens']);

/** The client's own request, with what the prefilling server has answered of where its KV is. */
export function decodeBody(body: Json, answer: unknown): Json {
  const { kv_transfer_params: params } = answer as Json;
  return { ...body, kv_transfer_params: params };
}
