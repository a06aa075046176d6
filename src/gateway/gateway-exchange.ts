import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { ExtProcClient, ExtProcStream, ProcessingResponse } from './ext-proc-client.ts';
import { applyMutation, endToEndHeaders, type HeaderPair, toWire } from './header-mutation.ts';

interface ExchangeOptions {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly extProc: ExtProcClient;
  readonly upstreams: Dispatcher;
}

const DESTINATION = 'x-gateway-destination-endpoint';

/** One HTTP request: to the picker in full duplex, to the picked endpoint, and back. */
export class GatewayExchange {
  readonly #options: ExchangeOptions;
  readonly #stream: ExtProcStream;
  readonly #abort = new AbortController();
  /** The request body that the picker has returned. */
  readonly #toUpstream = new PassThrough();
  readonly #headers: readonly HeaderPair[];
  readonly #hasBody: boolean;
  #upstream: Dispatcher.ResponseData | undefined;
  /** The picker has ended its stream: the rest of the response does not pass it. */
  #passing = false;
  #over = false;

  constructor(options: ExchangeOptions) {
    const { request, response, extProc } = options;
    this.#options = options;
    // Only the picker may set the destination.
    this.#headers = endToEndHeaders(request.rawHeaders).filter(([name]) => name !== DESTINATION);
    this.#hasBody =
      'transfer-encoding' in request.headers || Number(request.headers['content-length'] ?? 0) > 0;
    this.#stream = extProc.process();
    this.#stream.on('data', (answer: ProcessingResponse) => this.#onAnswer(answer));
    this.#stream.on('error', (error) =>
      this.#fail(503, `the endpoint picker failed: ${error.message}`),
    );
    this.#stream.on('end', () => this.#onPickerDone());
    this.#toUpstream.on('error', () => undefined);
    response.on('close', () => this.#end());
  }

  async run(): Promise<void> {
    const { request } = this.#options;
    const pseudo: readonly HeaderPair[] = [
      [':method', request.method ?? 'GET'],
      [':path', request.url ?? '/'],
      [':scheme', 'http'],
      [':authority', request.headers.host ?? ''],
    ];
    const plain = this.#headers.filter(([name]) => name !== 'host');
    this.#stream.write({
      request_headers: {
        headers: { headers: toWire([...pseudo, ...plain]) },
        end_of_stream: !this.#hasBody,
      },
      protocol_config: {
        request_body_mode: 'FULL_DUPLEX_STREAMED',
        response_body_mode: 'FULL_DUPLEX_STREAMED',
      },
    });
    if (!this.#hasBody) return;
    for await (const chunk of request) {
      await this.#write({ request_body: { body: chunk as Buffer, end_of_stream: false } });
    }
    await this.#write({ request_body: { body: Buffer.alloc(0), end_of_stream: true } });
  }

  /** Answers with an error of the gateway, or closes the connection if a response has begun. */
  #fail(status: number, sentence: string): void {
    if (this.#over) return;
    const { response } = this.#options;
    if (response.headersSent) response.destroy();
    else {
      const body = {
        error: { message: sentence, type: 'server_error', param: null, code: 'gateway' },
      };
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    }
    this.#end();
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#stream.cancel();
    this.#abort.abort();
    this.#toUpstream.destroy();
  }

  async #write(message: Parameters<ExtProcStream['write']>[0]): Promise<void> {
    if (this.#over || this.#passing || this.#stream.write(message)) return;
    await once(this.#stream, 'drain', { signal: this.#abort.signal });
  }

  #onAnswer(answer: ProcessingResponse): void {
    if (this.#over) return;
    if (answer.immediate_response !== undefined) this.#reject(answer.immediate_response);
    else if (answer.request_headers !== undefined) {
      const headers = applyMutation(
        this.#headers,
        answer.request_headers.response?.header_mutation,
      );
      this.#forward(headers).catch((error: unknown) => {
        this.#fail(503, `the picked endpoint cannot be reached: ${String(error)}`);
      });
    } else if (answer.request_body !== undefined) this.#passRequestBody(answer.request_body);
    else if (answer.response_headers !== undefined) {
      this.#sendHead(answer.response_headers.response?.header_mutation);
    } else if (answer.response_body !== undefined) this.#passResponseBody(answer.response_body);
    else if (answer.response_trailers !== undefined) this.#finish();
  }

  #reject({ status, headers, body }: NonNullable<ProcessingResponse['immediate_response']>): void {
    const { response } = this.#options;
    if (response.headersSent) response.destroy();
    else {
      response.writeHead(status?.code ?? 500, applyMutation([], headers).flat());
      response.end(body);
    }
    this.#end();
  }

  #passRequestBody({ response }: NonNullable<ProcessingResponse['request_body']>): void {
    const { body, end_of_stream: last } = response?.body_mutation?.streamed_response ?? {};
    if (body !== undefined && body.length > 0 && !this.#toUpstream.write(body)) {
      this.#stream.pause();
      this.#toUpstream.once('drain', () => this.#stream.resume());
    }
    if (last === true) this.#toUpstream.end();
  }

  async #forward(headers: readonly HeaderPair[]): Promise<void> {
    const destinations = headers.find(([name]) => name === DESTINATION)?.[1] ?? '';
    const first = destinations.split(',', 1)[0]?.trim() ?? '';
    if (first === '') throw new Error('the picker named no destination');
    const { request, upstreams } = this.#options;
    const upstream = await upstreams.request({
      origin: `http://${first}`,
      path: request.url ?? '/',
      method: (request.method ?? 'GET') as Dispatcher.HttpMethod,
      headers: headers.flat(),
      body: this.#hasBody ? this.#toUpstream : null,
      responseHeaders: 'raw',
      signal: this.#abort.signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.#upstream = upstream;
    upstream.body.on('error', () =>
      this.#fail(502, 'the picked endpoint closed the connection before its response ended'),
    );
    if (this.#passing) {
      this.#passResponse();
      return;
    }
    const status: HeaderPair = [':status', String(upstream.statusCode)];
    const wire = toWire([status, ...responseHeaders(upstream)]);
    await this.#write({ response_headers: { headers: { headers: wire }, end_of_stream: false } });
    for await (const chunk of upstream.body) {
      await this.#write({ response_body: { body: chunk as Buffer, end_of_stream: false } });
    }
    const trailers = Object.entries(upstream.trailers);
    if (trailers.length === 0) {
      await this.#write({ response_body: { body: Buffer.alloc(0), end_of_stream: true } });
    } else await this.#write({ response_trailers: { trailers: { headers: toWire(trailers) } } });
  }

  #sendHead(mutation: Parameters<typeof applyMutation>[1]): void {
    const { response } = this.#options;
    if (this.#upstream === undefined || response.headersSent) return;
    const headers = applyMutation(responseHeaders(this.#upstream), mutation);
    response.writeHead(this.#upstream.statusCode, headers.flat());
    response.flushHeaders();
  }

  #passResponseBody({ response: answer }: NonNullable<ProcessingResponse['response_body']>): void {
    const { response } = this.#options;
    const { body, end_of_stream: last } = answer?.body_mutation?.streamed_response ?? {};
    if (body !== undefined && body.length > 0 && !response.write(body)) {
      this.#stream.pause();
      response.once('drain', () => this.#stream.resume());
    }
    if (last === true) this.#finish();
  }

  #finish(): void {
    const { response } = this.#options;
    const trailers = Object.entries(this.#upstream?.trailers ?? {});
    if (trailers.length > 0) response.addTrailers(trailers);
    response.end();
    if (!this.#over) this.#stream.end();
  }

  #onPickerDone(): void {
    if (this.#over || this.#options.response.writableEnded) return;
    this.#passing = true;
    if (this.#upstream !== undefined) this.#passResponse();
  }

  #passResponse(): void {
    const { response } = this.#options;
    this.#sendHead(undefined);
    this.#upstream?.body.pipe(response);
  }
}

function responseHeaders({ headers }: Dispatcher.ResponseData): readonly HeaderPair[] {
  // A flat list with `responseHeaders: 'raw'`, which undici's types do not declare.
  const flat = headers as unknown as readonly (string | Buffer)[];
  return endToEndHeaders(
    flat.map((each) => (typeof each === 'string' ? each : each.toString('latin1'))),
  );
}
