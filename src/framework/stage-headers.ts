/** Where to have the prompt computed first, `host:port`, as the routing sidecar reads it. */
export const PREFILL_HEADER = 'x-prefiller-host-port';
/** Where to have images and the like encoded, comma-separated. */
export const ENCODE_HEADER = 'x-encoder-hosts-ports';
