import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

const TYPES = { A: 1, AAAA: 28 } as const;
const NAME_ERROR = 3;
const SERVER_FAILURE = 2;

/** What the server says of a name; of names that it does not have: that they do not exist. */
export interface DnsName {
  readonly ttlS?: number;
  /** IPv4 addresses. */
  readonly a?: readonly string[];
  /** IPv6 addresses in full: eight groups. */
  readonly aaaa?: readonly string[];
  /** Answers that the server cannot answer. */
  readonly fails?: boolean;
}

export interface DnsServer {
  /** `address:port`. */
  readonly address: string;
  readonly names: Map<string, DnsName>;
  stop(): Promise<void>;
}

/** A DNS server on UDP that answers for the names in its map. */
export async function startDnsServer(): Promise<DnsServer> {
  const names = new Map<string, DnsName>();
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    socket.send(answerTo(query, names), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${(socket.address() as AddressInfo).port}`,
    names,
    stop: () => new Promise((done) => void socket.close(() => done())),
  };
}

function answerTo(query: Buffer, names: ReadonlyMap<string, DnsName>): Buffer {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = query.readUInt16BE(at + 1);
  const question = query.subarray(12, at + 5);
  const found = names.get(labels.join('.').toLowerCase());
  const records = recordsOf(found, type);
  const header = Buffer.alloc(12);
  header.writeUInt16BE(query.readUInt16BE(0), 0);
  const code = found === undefined ? NAME_ERROR : found.fails === true ? SERVER_FAILURE : 0;
  header.writeUInt16BE(0x8180 | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, question, ...records]);
}

function recordsOf(found: DnsName | undefined, type: number): readonly Buffer[] {
  if (found === undefined || found.fails === true) return [];
  const v4 = (found.a ?? []).map((text) => Buffer.from(text.split('.').map(Number)));
  const v6 = (found.aaaa ?? []).map((text) =>
    Buffer.from(
      text
        .split(':')
        .map((group) => group.padStart(4, '0'))
        .join(''),
      'hex',
    ),
  );
  const data = type === TYPES.A ? v4 : type === TYPES.AAAA ? v6 : [];
  return data.map((each) => {
    const record = Buffer.alloc(12);
    // The name of the question.
    record.writeUInt16BE(0xc00c, 0);
    record.writeUInt16BE(type, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt32BE(found.ttlS ?? 30, 6);
    record.writeUInt16BE(each.length, 10);
    return Buffer.concat([record, each]);
  });
}
