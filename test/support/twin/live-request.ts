import type { StreamAction } from '../../../src/extproc/codec/stream-action.ts';
import type { StreamEvent } from '../../../src/extproc/codec/stream-event.ts';
import { Session, type SessionOptions } from '../../../src/extproc/session/session.ts';
import { PREFILL_HEADER } from '../../../src/framework/routing.ts';
import type { RequestResult } from '../../../src/lab/run-summary/run-result.ts';
import type { TraceRequest } from '../../../src/lab/traces/trace.ts';
import type { SimulatedClock } from '../../../src/runtime/clock/simulated-clock.ts';
import {
  requestBody,
  requestHeaders,
  responseEnd,
  responseHeaders,
  responsePart,
} from '../session/session-bed.ts';
import type { VirtualWire } from './virtual-wire.ts';

/** What all requests of a run share. */
export interface LiveParts {
  readonly clock: SimulatedClock;
  readonly wire: VirtualWire;
  readonly session: SessionOptions;
  /** One hop of the network. */
  readonly hopMs: number;
  readonly placeOf: (address: string) => number;
  readonly onEnd: () => void;
}

const PATH = '/v1/completions';
const JSON_TYPE = { 'content-type': 'application/json' };
/** As `replay --stub-lengths`: in `max_tokens` the picker would see how long an answer will be. */
const LENGTH_HEADER = 'x-stub-output-tokens';
/** The end of an answer that surely has its usage. */
const TAIL_CHARS = 1000;

/** A client's request, with what gateway and sidecar do: through a session to a stub and back. */
export class LiveRequest {
  readonly result: RequestResult;
  readonly #parts: LiveParts;
  readonly #fields: object;
  readonly #session: Session;
  #tail = '';

  constructor(request: TraceRequest, prompt: string, parts: LiveParts) {
    this.#parts = parts;
    this.result = {
      request,
      server: -1,
      attempts: 1,
      ttftMs: Number.NaN,
      e2eMs: Number.NaN,
      cachedTokens: 0,
      completed: false,
    };
    this.#fields = { model: request.model, prompt };
    this.#session = new Session(parts.session, (action) => this.#on(action));
  }

  start(): void {
    this.#session.on(requestHeaders({ pairs: { ':path': PATH, ...JSON_TYPE } }));
    this.#session.on(requestBody(this.#body({})));
  }

  #on(action: StreamAction): void {
    if (action.kind === 'immediate-response') this.#end();
    if (!('pick' in action) || action.pick === undefined) return;
    const { destination, setHeaders } = action.pick;
    this.result.server = this.#parts.placeOf(destination);
    const prefiller = new Map(setHeaders).get(PREFILL_HEADER);
    this.#afterOneHop(() => {
      if (prefiller === undefined) this.#generate(destination, {});
      else this.#prefill(prefiller, destination);
    });
  }

  /** The first leg of NIXL's contract, whose answer says where the KV is. */
  #prefill(prefiller: string, destination: string): void {
    const leg = {
      stream: false,
      max_tokens: 1,
      kv_transfer_params: { do_remote_decode: true, do_remote_prefill: false },
    };
    const body = Buffer.from(this.#body(leg));
    this.#parts.wire.ask(
      prefiller,
      { method: 'POST', path: PATH, headers: JSON_TYPE, body },
      (answer) => {
        const { kv_transfer_params } = JSON.parse(Buffer.from(answer.body).toString()) as object & {
          readonly kv_transfer_params?: object;
        };
        this.#afterOneHop(() => this.#generate(destination, { kv_transfer_params }));
      },
    );
  }

  #generate(destination: string, fields: object): void {
    const { clock, wire, hopMs } = this.#parts;
    const { result } = this;
    const body = Buffer.from(this.#body(fields));
    const sent = { ...JSON_TYPE, [LENGTH_HEADER]: String(result.request.outputTokens) };
    const request = { method: 'POST', path: PATH, headers: sent, body } as const;
    wire.send(destination, request, {
      onHeaders: (status) => {
        result.completed = status === 200;
        const type = { 'content-type': 'text/event-stream' };
        this.#say(responseHeaders(status, false, type));
      },
      onChunk: (chunk) => {
        const isFirst = Number.isNaN(result.ttftMs) && result.completed;
        if (isFirst) result.ttftMs = clock.now() + hopMs - result.request.atMs;
        this.#tail = (this.#tail + chunk.toString('latin1')).slice(-TAIL_CHARS);
        this.#say(responsePart(chunk.toString()));
      },
      onEnd: () => this.#afterOneHop(() => this.#answered()),
    });
  }

  #answered(): void {
    const [, cached = '0'] = /"cached_tokens":(\d+)/.exec(this.#tail) ?? [];
    this.result.cachedTokens = Number(cached);
    this.#session.on(responseEnd(''));
    this.#session.closed('ended');
    this.#end();
  }

  #end(): void {
    this.result.e2eMs = this.#parts.clock.now() - this.result.request.atMs;
    this.#parts.onEnd();
  }

  /** What the server sends, as the picker sees it after one hop. */
  #say(event: StreamEvent): void {
    this.#afterOneHop(() => this.#session.on(event));
  }

  #body(fields: object): string {
    const streamed = { stream: true, stream_options: { include_usage: true } };
    return JSON.stringify({ ...this.#fields, ...streamed, ...fields });
  }

  #afterOneHop(callback: () => void): void {
    this.#parts.clock.setTimer(this.#parts.hopMs, callback);
  }
}
