import { BadServer, ServerBytes } from '../../../src/replicas/links/nats/server-bytes.ts';
import { expected, type FuzzTarget, promise, utf8 } from '../target.ts';

const MESSAGE_BYTES_MAX = 40;
const INFO = 'INFO {"version":"2.10.1","max_payload":1048576,"connect_urls":["a:1","[::1]:2"]}\r\n';

/** What the client of NATS reads when the bytes come in pieces of this length. */
function readIn(input: Uint8Array, piece: number): { read: string; outcome: string } {
  let tooLarge = 0;
  const read: Uint8Array[] = [];
  const onTooLarge = (): void => void (tooLarge += 1);
  const server = new ServerBytes({ messageBytesMax: MESSAGE_BYTES_MAX, onTooLarge });
  try {
    for (let at = 0; at < input.length; at += piece) {
      read.push(...server.push(input.subarray(at, at + piece)));
    }
    return { read: textOf(read), outcome: `${Math.min(2, tooLarge)} too large` };
  } catch (error) {
    return { read: textOf(read), outcome: expected(error, BadServer) };
  }
}

const textOf = (pieces: readonly Uint8Array[]): string => Buffer.concat(pieces).toString('latin1');

/** A NATS server: its client reads the same however the bytes are cut, or the server is refused. */
export const natsBytes: FuzzTarget = {
  name: 'nats-bytes',
  // A line that comes byte by byte is copied for each.
  inputBytesMax: 1000,
  seeds: [
    `${INFO}PING\r\nPONG\r\n+OK\r\n`,
    `${INFO}MSG pointsman.pool 1 5\r\nhello\r\nMSG a 2 reply 0\r\n\r\n`,
    `${INFO}HMSG a 1 12 17\r\nNATS/1.0\r\n\r\nhello\r\n`,
    `${INFO}MSG a 1 60\r\n${'x'.repeat(60)}\r\nPING\r\n-ERR 'no'\r\n`,
  ].map(utf8),
  words: ['\r\n', 'INFO {}', 'MSG a 1 ', 'HMSG a 1 2 3', 'PING\r\n', '-ERR ', '\t', '999999999'],
  run: (input) => {
    const whole = readIn(input, Math.max(1, input.length));
    const cut = readIn(input, 1 + (input.length % 7));
    promise(cut.outcome === whole.outcome, () => `${cut.outcome} and ${whole.outcome}`);
    // What is refused within a piece takes the rest of this piece along.
    promise(cut.read.startsWith(whole.read), () => 'the client reads something else');
    return whole.outcome;
  },
};
