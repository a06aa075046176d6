import { once } from 'node:events';
import { type ClientHttp2Session, connect, constants, sensitiveHeaders } from 'node:http2';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DecodedHeaders, HeaderDecoder } from './header-decoder.ts';
import { encodeHeaders, NO_TABLE } from './header-encoder.ts';

type Fields = readonly (readonly [name: string, value: string])[];

const PREFACE_BYTES = 24;
const FRAME_HEAD_BYTES = 9;
const HEADERS_FRAME = 1;
const SETTINGS_FRAME = 4;
const CONTINUATION_FRAME = 9;
const END_STREAM = 1;
const END_HEADERS = 4;
const ACK = 1;
const PADDED = 8;
const PRIORITY = 32;
const SETTINGS_HEADER_TABLE_SIZE = 1;

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** One connection of a client: collects its header blocks, and answers each with `answer`. */
class Peer {
  readonly blocks: Buffer[] = [];
  answer: Fields = [[':status', '200']];
  readonly #socket: Socket;
  #bytes: Buffer = Buffer.alloc(0);
  #prefaceRead = false;
  #block: Buffer = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', () => {});
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
  }

  allowTable(bytes: number): void {
    const setting = Buffer.alloc(6);
    setting.writeUInt16BE(SETTINGS_HEADER_TABLE_SIZE, 0);
    setting.writeUInt32BE(bytes, 2);
    this.#socket.write(frame(SETTINGS_FRAME, 0, 0, setting));
  }

  #take(bytes: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    if (!this.#prefaceRead && this.#bytes.length < PREFACE_BYTES) return;
    if (!this.#prefaceRead) this.#bytes = this.#bytes.subarray(PREFACE_BYTES);
    this.#prefaceRead = true;
    while (this.#bytes.length >= FRAME_HEAD_BYTES) {
      const end = FRAME_HEAD_BYTES + this.#bytes.readUIntBE(0, 3);
      if (this.#bytes.length < end) return;
      this.#takeFrame(this.#bytes.subarray(0, end));
      this.#bytes = this.#bytes.subarray(end);
    }
  }

  #takeFrame(bytes: Buffer): void {
    const [type = 0, flags = 0] = bytes.subarray(3, 5);
    const payload = bytes.subarray(FRAME_HEAD_BYTES);
    if (type === SETTINGS_FRAME && (flags & ACK) === 0) {
      this.#socket.write(frame(SETTINGS_FRAME, ACK, 0, Buffer.alloc(0)));
    }
    if (type !== HEADERS_FRAME && type !== CONTINUATION_FRAME) return;
    expect(flags & PADDED).toBe(0);
    const head = type === HEADERS_FRAME && (flags & PRIORITY) !== 0 ? 5 : 0;
    this.#block = Buffer.concat([this.#block, payload.subarray(head)]);
    if ((flags & END_HEADERS) === 0) return;
    this.blocks.push(this.#block);
    this.#block = Buffer.alloc(0);
    const first = this.blocks.length === 1 ? NO_TABLE : Buffer.alloc(0);
    const answer = Buffer.concat([first, encodeHeaders(this.answer)]);
    const stream = bytes.readUInt32BE(5);
    this.#socket.write(frame(HEADERS_FRAME, END_HEADERS | END_STREAM, stream, answer));
  }
}

let server: Server;
beforeAll(async () => {
  server = createServer({ noDelay: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => server.close());

interface Connection {
  readonly session: ClientHttp2Session;
  readonly peer: Peer;
}

async function withClient(
  clientTableBytes: number,
  use: (connection: Connection) => Promise<void>,
): Promise<void> {
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, 'connection');
  const session = connect(`http://127.0.0.1:${port}`, {
    settings: { headerTableSize: clientTableBytes },
  });
  const [socket] = (await accepted) as [Socket];
  const peer = new Peer(socket);
  peer.allowTable(4096);
  await once(session, 'remoteSettings');
  try {
    await use({ session, peer });
  } finally {
    session.destroy();
    socket.destroy();
  }
}

/** Returns the answer's headers. Those named in `secret` are sent so that none may store them. */
async function ask(
  session: ClientHttp2Session,
  fields: Fields,
  secret: readonly string[] = [],
): Promise<Record<string, unknown>> {
  const byName: Record<string, string[]> = {};
  for (const [name, value] of fields) (byName[name] ??= []).push(value);
  const request = session.request({
    ...Object.fromEntries(
      Object.entries(byName).map(([name, values]) => [
        name,
        values.length === 1 ? values[0] : values,
      ]),
    ),
    [sensitiveHeaders]: [...secret],
  });
  request.end();
  request.resume();
  const [[headers]] = (await Promise.all([once(request, 'response'), once(request, 'close')])) as [
    [Record<string, unknown>],
    unknown,
  ];
  return headers;
}

function joined(fields: Fields): ReadonlyMap<string, string> {
  const map = new Map<string, string>();
  for (const [name, value] of fields) {
    const before = map.get(name);
    map.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return map;
}

function ordinary({ fields }: DecodedHeaders): ReadonlyMap<string, string> {
  return new Map([...fields].filter(([name]) => !name.startsWith(':')));
}

const TOKEN = "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~".split('');
/** Every byte that a value may have: tabs, and all but control characters. */
const VALUE = [
  '\t',
  ...Array.from({ length: 224 }, (_, at) => String.fromCharCode(at + 32)),
].filter((each) => each !== '\x7f');
const token = fc.string({ unit: fc.constantFrom(...TOKEN), minLength: 1, maxLength: 30 });
const name = fc.oneof(
  fc.constantFrom('accept-encoding', 'accept', 'x-request-id', 'grpc-timeout', 'via', 'x-a', 'x-b'),
  token.map((each) => `x-${each}`),
);
const value = fc.oneof(
  fc.constantFrom('', '1', 'application/grpc', 'gzip, deflate', '0123456789'.repeat(50)),
  fc.string({ unit: fc.constantFrom(...VALUE), maxLength: 200 }).map((each) => each.trim()),
);

describe('beside the HTTP/2 of Node', () => {
  it('[V180] reads each byte of a value as it was sent', async () => {
    const fields = VALUE.map((each, at): [string, string] => [
      `x-${at}`,
      `${'a'.repeat(16)}${each}${'e'.repeat(16)}`,
    ]);
    await withClient(4096, async ({ session, peer }) => {
      await ask(session, fields);
      const block = peer.blocks[0] as Buffer;
      expect(block.length).toBeLessThan(VALUE.length * 33);
      const decoder = new HeaderDecoder({ tableBytesMax: 4096, listBytesMax: 65_536 });
      expect(ordinary(decoder.decode(block))).toEqual(joined(fields));
    });
  });

  it('[V180] reads what a client sends over the life of a connection', async () => {
    const request = fc.record({
      fields: fc.array(fc.tuple(name, value), { maxLength: 12 }),
      secret: fc.boolean(),
    });
    const phases = fc.array(
      fc.record({
        tableBytes: fc.constantFrom(4096, 4096, 4096, 0, 64, 500, 65_536),
        requests: fc.array(request, { minLength: 1, maxLength: 15 }),
      }),
      { minLength: 1, maxLength: 5 },
    );
    await fc.assert(
      fc.asyncProperty(phases, async (all) => {
        await withClient(4096, async ({ session, peer }) => {
          const decoder = new HeaderDecoder({ tableBytesMax: 65_536, listBytesMax: 65_536 });
          for (const { tableBytes, requests } of all) {
            const allowed = once(session, 'remoteSettings');
            peer.allowTable(tableBytes);
            await allowed;
            const first = peer.blocks.length;
            await Promise.all(
              requests.map(({ fields, secret }) =>
                ask(session, fields, secret ? fields.map(([each]) => each) : []),
              ),
            );
            const decoded = peer.blocks.slice(first).map((block) => decoder.decode(block));
            expect(decoded.map(({ fault }) => fault)).toEqual(requests.map(() => undefined));
            expect(decoded.map(({ fields }) => fields.get(':path'))).toEqual(
              requests.map(() => '/'),
            );
            expect(decoded.map(ordinary)).toEqual(requests.map(({ fields }) => joined(fields)));
          }
        });
      }),
      { numRuns: 20, seed: 1800 },
    );
  });

  it('[V184] sends headers that a client reads as they are, whatever table it allows', async () => {
    const lists = fc.array(
      fc.uniqueArray(
        fc.tuple(
          token.map((each) => `x-${each}`),
          value,
        ),
        { maxLength: 12, selector: ([each]) => each },
      ),
      { minLength: 1, maxLength: 10 },
    );
    await fc.assert(
      fc.asyncProperty(lists, fc.constantFrom(4096, 0, 100, 65_536), async (each, tableBytes) => {
        await withClient(tableBytes, async ({ session, peer }) => {
          for (const fields of each) {
            peer.answer = [[':status', '200'], ['content-type', 'application/grpc'], ...fields];
            const answer = await ask(session, []);
            expect(answer[constants.HTTP2_HEADER_STATUS]).toBe(200);
            expect(answer['content-type']).toBe('application/grpc');
            for (const [key, sent] of fields) expect(answer[key]).toBe(sent);
          }
        });
      }),
      { numRuns: 20, seed: 184 },
    );
  });
});
