import { FRAME_HEAD_BYTES } from '../../../openai/grpc/grpc-frames.ts';
import { WireReader } from '../../codec/wire-reader.ts';
import { WireWriter } from '../../codec/wire-writer.ts';
import type { Http2Stream, StreamHandler } from '../../http2/stream.ts';
import { MemoryPool } from '../../streams/memory-pool.ts';
import { endCall, GRPC, type Method, respond } from '../calls/grpc.ts';
import { FramingError, MessageReader } from '../calls/message-reader.ts';
import { OpenCalls } from '../calls/open-calls.ts';

/** Service names that gateways ask for: none, ext_proc, and those of the reference's probes. */
const SERVICES = [
  '',
  'envoy.service.ext_proc.v3.ExternalProcessor',
  'inference-extension',
  'readiness',
] as const;
const LIVENESS = 'liveness';
const SERVICE = '/grpc.health.v1.Health';
const isPicker = (service: string): boolean => SERVICES.some((each) => each === service);

/** Values of `ServingStatus` in grpc.health.v1. */
const STATUS = { serving: 1, notServing: 2, serviceUnknown: 3 } as const;
/** A name of a service is much shorter. */
const REQUEST_BYTES_MAX = 4096;
/**
 * Calls that are open at once, on all connections together. A gateway and a probe have one each.
 */
const CALLS_MAX = 1000;

const nothing = (): void => undefined;

/** gRPC health for all servers of the picker: live from the start, serving after `setServing`. */
export class Health {
  readonly #calls = new OpenCalls(CALLS_MAX, 'health');
  readonly methods: ReadonlyMap<string, Method> = new Map([
    [`${SERVICE}/Check`, this.#calls.counted(unary((name) => statusMessage(this.#statusOf(name))))],
    [`${SERVICE}/List`, this.#calls.counted(unary(() => this.#list()))],
    [`${SERVICE}/Watch`, this.#calls.counted((stream) => this.#watch(stream))],
  ]);
  #serving = false;
  /** Clients that are sent each change, with the service they ask for. */
  readonly #watches = new Map<Http2Stream, string>();

  setServing(serving: boolean): void {
    if (this.#serving === serving) return;
    this.#serving = serving;
    for (const [stream, service] of this.#watches) {
      if (isPicker(service)) send(stream, this.#known(service));
    }
  }

  /** A check by any other name, too, asks for the picker, as with the reference. */
  #statusOf(service: string): number {
    return service === LIVENESS || this.#serving ? STATUS.serving : STATUS.notServing;
  }

  #known(service: string): Buffer {
    const known = service === LIVENESS || isPicker(service);
    return statusMessage(known ? this.#statusOf(service) : STATUS.serviceUnknown);
  }

  #list(): Buffer {
    const writer = new WireWriter();
    for (const service of [...SERVICES, LIVENESS]) {
      const end = writer.written;
      writer.uint32(1, this.#statusOf(service));
      writer.message(2, end);
      writer.text(1, service);
      writer.message(1, end);
    }
    return writer.take();
  }

  #watch(stream: Http2Stream): StreamHandler {
    const request = new Request(stream, (service) => {
      if (this.#watches.has(stream)) return;
      this.#watches.set(stream, service);
      respond(stream);
      send(stream, this.#known(service));
    });
    return {
      data: request.data,
      ended: nothing,
      closed: () => void this.#watches.delete(stream),
    };
  }
}

/** A method with one answer, for the name of a service. */
function unary(answer: (service: string) => Buffer): Method {
  return (stream) => {
    const request = new Request(stream, (service) => {
      respond(stream);
      send(stream, answer(service));
      endCall(stream, GRPC.ok, '');
    });
    return { data: request.data, ended: nothing, closed: nothing };
  };
}

/** Names of services are short, so that it is never reached. */
const BLOCKS = new MemoryPool();

/** Reads the message of a request, whose only field is the name of a service. */
class Request {
  readonly #reader = new MessageReader(REQUEST_BYTES_MAX, BLOCKS);
  readonly #stream: Http2Stream;
  readonly #onService: (service: string) => void;

  constructor(stream: Http2Stream, onService: (service: string) => void) {
    this.#stream = stream;
    this.#onService = onService;
  }

  readonly data = (piece: Buffer): boolean => {
    try {
      this.#reader.push(piece);
      const message = this.#reader.next();
      if (message !== undefined) this.#onService(serviceIn(message));
    } catch (error) {
      if (error instanceof FramingError) endCall(this.#stream, error.status, error.message);
      else if (error instanceof RangeError) endCall(this.#stream, GRPC.internal, error.message);
      else throw error;
    }
    return false;
  };
}

function serviceIn(message: Buffer): string {
  const reader = new WireReader(message);
  let service = '';
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) service = reader.text();
    else reader.skip();
  }
  return service;
}

function statusMessage(status: number): Buffer {
  const writer = new WireWriter();
  writer.uint32(1, status);
  return writer.take();
}

function send(stream: Http2Stream, message: Buffer): void {
  const frame = Buffer.alloc(FRAME_HEAD_BYTES + message.length);
  frame.writeUInt32BE(message.length, 1);
  message.copy(frame, FRAME_HEAD_BYTES);
  stream.send([frame], nothing);
}
