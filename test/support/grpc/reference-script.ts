import type { PickerInput, PickerScript, PickerStream } from './scripted-picker.ts';

interface Header {
  readonly key: string;
  readonly value?: string;
  readonly raw_value?: Buffer;
}

/** What the script does in place of a pick, once it has the whole body. */
export type Turn =
  | { readonly status: number; readonly reason: string }
  /** Picks, and closes its stream at once. */
  | 'leaves'
  /** Ends its stream with an error. */
  | 'fails'
  /** Picks, and ends the request at the second piece of its answer. */
  | 'evicts'
  | 'picks';

const CHUNK_BYTES_MAX = 62_000;

/**
 * Answers as the reference picker does on the wire: nothing before it has the whole body; then every
 * header again, the destination in header and metadata, with all scores, and the body in pieces of
 * its own; whole answers are kept until they end.
 */
export function referenceScript(destination: string, turn: Turn = 'picks'): PickerScript {
  const exchanges = new WeakMap<PickerStream, Exchange>();
  return (input, stream) => {
    const exchange = exchanges.get(stream) ?? new Exchange(destination, turn, stream);
    exchanges.set(stream, exchange);
    exchange.take(input as Input);
  };
}

type Input = PickerInput & {
  readonly [field in 'request_headers' | 'response_headers']?: {
    readonly headers: { readonly headers: readonly Header[] };
    readonly end_of_stream?: boolean;
  };
};

class Exchange {
  readonly #destination: string;
  readonly #turn: Turn;
  readonly #stream: PickerStream;
  #headers: readonly Header[] = [];
  readonly #body: Buffer[] = [];
  readonly #answer: Buffer[] = [];
  #streams = false;
  #pieces = 0;

  constructor(destination: string, turn: Turn, stream: PickerStream) {
    this.#destination = destination;
    this.#turn = turn;
    this.#stream = stream;
  }

  take({ request_headers, request_body, response_headers, response_body, ...rest }: Input): void {
    if (request_headers !== undefined) {
      this.#headers = request_headers.headers.headers;
      if (request_headers.end_of_stream === true) this.#pick(undefined);
    } else if (request_body !== undefined) {
      this.#body.push(request_body.body ?? Buffer.alloc(0));
      if (request_body.end_of_stream === true) this.#decide(Buffer.concat(this.#body));
    } else if (response_headers !== undefined) {
      const { headers } = response_headers.headers;
      this.#streams = headers.some(
        (each) => each.key === 'content-type' && text(each).includes('text/event-stream'),
      );
      const own = { key: 'x-went-into-resp-headers', raw_value: Buffer.from('true') };
      this.#stream.write({ response_headers: { response: headerMutation([own, ...headers]) } });
    } else if (response_body !== undefined) {
      const { body = Buffer.alloc(0), end_of_stream = false } = response_body;
      if (this.#turn === 'evicts' && this.#pieces++ > 0) return this.#refuse(429, 'evicted');
      this.#answer.push(body);
      if (!this.#streams && !end_of_stream) return;
      this.#send('response_body', Buffer.concat(this.#answer.splice(0)), end_of_stream);
    } else if (rest.response_trailers !== undefined) {
      this.#stream.write({ response_trailers: {} });
    }
  }

  #decide(body: Buffer): void {
    const turn = this.#turn;
    if (turn === 'fails') {
      this.#stream.emit('error', Object.assign(new Error('it fails'), { code: 13 }));
    } else if (typeof turn === 'object') this.#refuse(turn.status, turn.reason);
    else {
      this.#pick(body.length);
      this.#send('request_body', body, true);
      if (turn === 'leaves') this.#stream.end();
    }
  }

  #pick(bodyBytes: number | undefined): void {
    const destination = this.#destination;
    const length = { key: 'Content-Length', raw_value: Buffer.from(String(bodyBytes)) };
    const again = this.#headers
      .filter(({ key }) => key !== 'content-length')
      .map((each) => ({ key: each.key, raw_value: Buffer.from(text(each)) }));
    const set = [
      { key: DESTINATION, raw_value: Buffer.from(destination) },
      ...(bodyBytes === undefined ? [] : [length]),
      ...again,
    ];
    const scores = { [destination]: { numberValue: 4.5 }, '10.0.0.9:8000': { numberValue: 3 } };
    const lb = {
      [DESTINATION]: { stringValue: destination },
      [`${DESTINATION}-scores`]: { structValue: { fields: scores } },
    };
    this.#stream.write({
      request_headers: { response: { ...headerMutation(set), clear_route_cache: true } },
      dynamic_metadata: { fields: { 'envoy.lb': { structValue: { fields: lb } } } },
    });
  }

  #refuse(code: number, reason: string): void {
    const header = { key: 'x-llm-d-request-dropped-reason', raw_value: Buffer.from(reason) };
    this.#stream.write({
      immediate_response: {
        status: { code },
        body: Buffer.from(`inference error: ${reason}`),
        headers: { set_headers: [{ header }] },
      },
    });
  }

  #send(field: 'request_body' | 'response_body', body: Buffer, isLast: boolean): void {
    for (let at = 0; at === 0 || at < body.length; at += CHUNK_BYTES_MAX) {
      const end_of_stream = isLast && at + CHUNK_BYTES_MAX >= body.length;
      const streamed_response = { body: body.subarray(at, at + CHUNK_BYTES_MAX), end_of_stream };
      this.#stream.write({ [field]: { response: { body_mutation: { streamed_response } } } });
    }
  }
}

const DESTINATION = 'x-gateway-destination-endpoint';

function text({ value, raw_value }: Header): string {
  return raw_value !== undefined && raw_value.length > 0
    ? raw_value.toString('latin1')
    : (value ?? '');
}

function headerMutation(headers: readonly Header[]): { readonly header_mutation: object } {
  const set_headers = headers.map((header) => ({ header }));
  return { header_mutation: { set_headers } };
}
