import { decodeRequest } from '../../../src/extproc/codec/decode-request.ts';
import { encodeResponse } from '../../../src/extproc/codec/encode-response.ts';
import { HeaderBlock } from '../../../src/extproc/codec/header-block.ts';
import type { StreamAction } from '../../../src/extproc/codec/stream-action.ts';
import type { StreamEvent } from '../../../src/extproc/codec/stream-event.ts';
import { WireWriter } from '../../../src/extproc/codec/wire-writer.ts';
import { Session } from '../../../src/extproc/session/session.ts';
import type { Router } from '../../../src/framework/routing.ts';
import { createOpenBody, headerOnlyRequest } from '../../../src/openai/parsers/open-body.ts';
import { startFuzzPicker } from '../picker.ts';
import { type FuzzTarget, promise, utf8 } from '../target.ts';
import { extProc } from './ext-proc.ts';

const PATHS = ['/v1/chat/completions', '/v1/completions', '/', '/health', '/v1/responses'];
const BODIES = [
  '{"model":"m","messages":[{"role":"user","content":"hello"}],"stream":true}',
  '{"model":"m","prompt":"' + 'word '.repeat(60) + '","max_tokens":3}',
  'no json',
  '{"model":',
];
const ANSWERS = [
  'data: {"choices":[{"delta":{"content":"a"}}]}\n\n',
  'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\ndata: [DONE]\n\n',
  '{"usage":{"prompt_tokens":1e400,"completion_tokens":-1}}',
];
const STATUSES = ['200', '404', '500', '', '20000000000'];
const PLAIN = {
  metadata: undefined,
  observing: false,
  protocol: undefined,
  wireBytes: 64,
} as const;
const CASES_PER_PICKER = 500;
const LONGEST_ANSWER_MS = 3_600_000;
const SCRIPT_BYTES_MAX = 400;

let picking = startFuzzPicker();
let cases = 0;

function headers(pairs: Readonly<Record<string, string>>): HeaderBlock {
  const writer = new WireWriter();
  for (const [name, value] of Object.entries(pairs)) {
    const end = writer.written;
    writer.text(3, value);
    writer.text(1, name);
    writer.message(1, end);
  }
  return new HeaderBlock(writer.take());
}

/** Reads an input as options of a session, then as events: the operation, then its argument. */
class Script {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length;
  }

  byte(): number {
    return this.#bytes[this.#at++] ?? 0;
  }

  one<T>(all: readonly T[]): T {
    return all[this.byte() % all.length] as T;
  }

  take(): Uint8Array {
    const length = this.byte();
    const piece = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return piece;
  }
}

/** The waits of picks that `prepare` has begun. */
type Waits = (() => void)[];

function routerOf(waits: Waits, prepares: boolean, onRoute: () => void): Router {
  const { picker } = picking;
  return {
    route: (request, options) => {
      onRoute();
      return picker.route(request, options);
    },
    ...(prepares && {
      prepare: (_request, _chunks, ready) => {
        waits.push(ready);
        return true;
      },
    }),
  };
}

function eventOf(script: Script, operation: number): StreamEvent {
  const endOfStream = (operation & 0x40) !== 0;
  switch (operation % 9) {
    case 0: {
      const pairs = { ':method': 'POST', ':path': script.one(PATHS) };
      const block = headers({ ...pairs, 'content-length': String(script.byte() * 1000) });
      return { ...PLAIN, kind: 'request-headers', headers: block, endOfStream };
    }
    case 1:
    case 2: {
      const chunk = Buffer.from(operation % 9 === 1 ? utf8(script.one(BODIES)) : script.take());
      return { ...PLAIN, kind: 'request-body', chunk, endOfStream };
    }
    case 3:
      return { ...PLAIN, kind: 'request-trailers' };
    case 4: {
      const block = headers({
        ':status': script.one(STATUSES),
        'content-type': 'text/event-stream',
      });
      return { ...PLAIN, kind: 'response-headers', headers: block, endOfStream };
    }
    case 5:
    case 6: {
      const chunk = Buffer.from(operation % 9 === 5 ? utf8(script.one(ANSWERS)) : script.take());
      return { ...PLAIN, kind: 'response-body', chunk, endOfStream };
    }
    case 7:
      return { ...PLAIN, kind: 'response-trailers', headers: headers({ 'grpc-status': '14' }) };
    default:
      return decoded(script.take());
  }
}

function decoded(bytes: Uint8Array): StreamEvent {
  try {
    return decodeRequest(Buffer.from(bytes));
  } catch {
    return { ...PLAIN, kind: 'unknown' };
  }
}

/**
 * Events of one stream in any order. The session throws nothing, routes once, gives each answer
 * once and none after its last, and holds no load when the stream has ended.
 */
export const session: FuzzTarget = {
  name: 'session',
  inputBytesMax: 600,
  seeds: [
    [4, 4, 0, 0, 0, 1, 1, 1, 0x41, 1, 4, 0, 5, 0, 0x45, 1],
    [2, 2, 0, 0, 0, 1, 0x41, 0, 4, 0, 5, 1, 7],
    [1, 1, 1, 0, 0, 1, 1, 2, 4, 123, 125, 32, 10, 0x42, 0, 4, 0],
    [4, 0, 4, 0, 0, 1, 0x41, 0, 4, 0],
    [0, 1, 0, 0, 0x40, 0, 4, 1, 0x45, 2],
    [4, 4, 2, 0, 0, 1, 0x41, 0, 4, 0, 0x45, 1],
  ]
    .map((bytes) => Uint8Array.from(bytes))
    .concat(extProc.seeds.map((seed) => Uint8Array.from([4, 4, 0, 0, 8, seed.length, ...seed]))),
  words: ['\x00\x00', '\x01\x00', '\x41\x00', '\x03', '\x04\x00', '\x05\x01', '\x45\x01', '\x07'],
  run: (input) => {
    cases += 1;
    if (cases % CASES_PER_PICKER === 0) {
      picking.picker.stop();
      picking = startFuzzPicker();
    }
    const script = new Script(input.subarray(0, SCRIPT_BYTES_MAX));
    const protocol = {
      requestBodyMode: script.byte() % 6,
      responseBodyMode: script.byte() % 6,
      sendsBodyWithoutWaiting: (script.byte() & 1) === 1,
    };
    const flags = script.byte();
    const waits: Waits = [];
    const actions: StreamAction[] = [];
    let routes = 0;
    const router = routerOf(waits, (flags & 1) === 1, () => {
      routes += 1;
    });
    const faults: unknown[] = [];
    const stream = new Session(
      {
        router,
        openBody: createOpenBody({ bodyBytesMax: 3000, hashSeed: 1 }),
        headerOnly: headerOnlyRequest,
        newRequestId: () => `r${cases}`,
        earlyPickBytes: 200,
        halfCloseAfterPick: (flags & 2) === 2,
        onFault: (error) => void faults.push(error),
        onRefused: () => undefined,
      },
      (action) => {
        actions.push(action);
        if (action.kind !== 'half-close') encodeResponse(action);
      },
    );
    const got = play(script, { stream, waits, protocol });
    stream.closed((flags & 4) === 4 ? 'ended' : (flags & 8) === 8 ? 'failed' : 'cancelled');
    for (const ready of waits.splice(0)) ready();
    // Where the end of an answer is not seen, its load is held for as long as it should take.
    picking.clock.advanceTo(picking.clock.now() + LONGEST_ANSWER_MS);
    check({ actions, faults, routes, got });
    return actions
      .map(({ kind }) => kind)
      .slice(0, 8)
      .join();
  },
};

interface Played {
  readonly stream: Session;
  readonly waits: Waits;
  readonly protocol: StreamEvent['protocol'];
}

/** Gives the session what the script says. Returns how many events of each kind there were. */
function play(script: Script, { stream, waits, protocol }: Played): Outcome['got'] {
  const got = new Map<StreamEvent['kind'], number>();
  for (let first = true; !script.done; first = false) {
    const operation = script.byte();
    if (operation % 16 === 15) for (const ready of waits.splice(0)) ready();
    else {
      const event = eventOf(script, operation);
      got.set(event.kind, (got.get(event.kind) ?? 0) + 1);
      stream.on(first ? { ...event, protocol } : event);
    }
    picking.clock.advanceTo(picking.clock.now() + 1);
  }
  return got;
}

interface Outcome {
  readonly actions: readonly StreamAction[];
  readonly faults: readonly unknown[];
  readonly routes: number;
  /** How many events of each kind came. */
  readonly got: ReadonlyMap<StreamEvent['kind'], number>;
}

function check({ actions, faults, routes, got }: Outcome): void {
  // Headers are decoded where they are read: bytes that are none are answered with 500.
  for (const fault of faults) if (!(fault instanceof RangeError)) throw fault;
  const count = (kind: StreamAction['kind']): number =>
    actions.filter((action) => action.kind === kind).length;
  promise(routes <= 1, () => `routed ${routes} times`);
  const kinds = actions.map(({ kind }) => kind);
  const answers = (kind: StreamAction['kind'], ...events: readonly StreamEvent['kind'][]): void => {
    const asked = events.reduce((sum, event) => sum + (got.get(event) ?? 0), 0);
    promise(count(kind) <= asked, () => `${kind} was sent too often: ${kinds.join()}`);
  };
  // Trailers in place of a buffered body bring the pick, too.
  answers('answer-request-headers', 'request-headers', 'request-trailers');
  answers('answer-request-trailers', 'request-trailers');
  answers('answer-response-headers', 'response-headers');
  answers('answer-response-trailers', 'response-trailers');
  for (const last of ['immediate-response', 'half-close'] as const) {
    const at = kinds.indexOf(last);
    promise(at < 0 || at === kinds.length - 1, () => `${last} is not the last: ${kinds.join()}`);
  }
  const picks = actions.filter((action) => 'pick' in action && action.pick !== undefined);
  promise(picks.length <= 1, () => `picked ${picks.length} times`);
  const { picker } = picking;
  for (const endpoint of picker.pool.snapshot()) {
    const load = picker.ledger.load(endpoint);
    const total = load.requests + load.contextTokens + load.pendingPrefillTokens;
    promise(total === 0, () => `after the stream ${JSON.stringify(load)} is reserved`);
  }
}
