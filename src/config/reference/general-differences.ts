/**
 * What behaves in another way than in the reference picker with every configuration, one sentence
 * each. `check --like-reference` prints them, and the page for those who come from it lists them.
 */
export const GENERAL_DIFFERENCES: readonly string[] = [
  'A request without a body goes to any endpoint by chance, as there, but only to one that the subset hint allows and that does not fail. Without one it gets 503, there 500; and no request metric counts it, where there the time and the size of its answer count under an empty model name.',
  'A refusal is JSON in the error shape of the client’s API, with `retry-after` where waiting can help, and gRPC’s own status for gRPC; there it is the text `inference error: …`.',
  'A request with a priority below 0 for which there is no endpoint gets 503, as any other; there it is shed, with 429.',
  'A refusal by `latency-slo-admitter` or `probabilistic-admitter` has status 429 and `rejected-saturated`; in 0.10 it has 500.',
  'Answers are passed on as they come; there an answer that is no event stream is kept until its end.',
  'An answer of 500 or more, in HTTP or by gRPC’s status, counts in `request_error_total`, and has no duration; there it has one, and no answer that comes through Envoy counts as an error. An answer of 400 or more has no time to its first token.',
  'Only headers that change are set; there all are set again, and answers get `x-went-into-resp-headers`.',
  'Headers of clients that steer a request, such as `x-prefiller-host-port`, are removed; 0.10 passes them on where it sets none.',
  'A body that is read has a limit (`--max-body-bytes`, 413), and so have the time of its upload (`--upload-timeout-ms`, 408) and the number of streams (`--max-streams`, 503).',
  'What is refused at a limit that only this picker has, or by a failure of its own, has a dropped reason that says so (`rejected-memory-full`, `rejected-too-many-streams`, `rejected-internal`). The `x-request-id` that it makes where there is none is short, and no UUID.',
  'A body that ends with trailers is complete; there it waits for the proxy’s time-out.',
  'The subset hint counts with its ports, and may be one text; there a list counts, by addresses only.',
  'A request with several texts is looked up text by text, as there; of one with more than 32 texts a precise index estimates the match by what was sent, where there each is tokenized.',
  'A request counts at each of its encoders until its first token; there at the first of them alone, and until its end.',
  'Certificates of model servers are verified unless `insecureSkipVerify: true` says otherwise.',
  'Of a JSON body only what a decision needs is checked; there odd prompts, such as lists of lists of token ids or an empty text, and some fields of another type get 400, which here the model server judges. A model’s name over 512 bytes, and JSON nested deeper than 128 levels, get 400 here.',
  'A body on a path that no parser reads passes unread, as in later releases by default; in 0.10 it gets 400.',
  'Names of fields in bodies count as the API writes them; there `"Prompt"` is read as `prompt`, and the model server refuses it.',
  'With an election of a leader, a health check by a name that is not known is answered as one without a name; there the name is unknown, so that a probe fails.',
  'A request that upgrades its connection, as WebSocket does, goes to an endpoint at once; there it waits for an end of its body that does not come.',
  'A changed body keeps every byte that did not have to change; there the whole JSON is written again, in another order.',
  'A configuration that can serve no request, such as one without the decode profile that its handler needs, is an error of `check` and at start; there the picker starts and refuses each request.',
  'A plugin that has the name of another built-in type, such as a scorer named `max-score-picker`, is an error where that type is needed.',
  'Two metrics data sources, or two extractors of them, are an error: an endpoint has one page of metrics, at any port; there each may read a page of its own.',
  'An extractor that is listed under a data source of another kind works; there it is an error.',
  'A second document in a configuration file, and in an endpoints file fields that are not known and two endpoints of one name or address, are errors; there they are passed over. Where a later version of that file has an error, the former list stays; there its other endpoints count.',
  'The configuration file is followed, and plugins marked as experimental need no flag.',
  'What a client sends to choose another model (`x-llm-d-model-name-rewrite`), or to have caches fetched from elsewhere (`kv_transfer_params` and `ec_transfer_params` in bodies), counts only with `--trust-client-controls`.',
];
