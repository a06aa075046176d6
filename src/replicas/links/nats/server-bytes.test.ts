import { describe, expect, it } from 'vitest';
import { BadServer, ServerBytes } from './server-bytes.ts';

const INFO = '{"version":"2.10.0","max_payload":1048576}';

function setUp() {
  const tooLarge: number[] = [];
  const bytes = new ServerBytes({
    messageBytesMax: 100,
    onTooLarge: (each) => void tooLarge.push(each),
  });
  const push = (text: string): string =>
    Buffer.concat(bytes.push(Buffer.from(text, 'latin1'))).toString('latin1');
  return { bytes, push, tooLarge };
}

const message = (size: number): string => `MSG a.all 1 ${size}\r\n${'x'.repeat(size)}\r\n`;

describe('[V410] the bytes of a NATS server', () => {
  it('passes whole lines and messages on, wherever they are cut', () => {
    const said = `PING\r\n${message(5)}+OK\r\n-ERR 'no'\r\nMSG a.all 2 reply 0\r\n\r\nHMSG a 1 4 6\r\nabcdef\r\nPONG\r\n`;
    for (let length = 1; length <= said.length; length++) {
      const { push } = setUp();
      let read = '';
      for (let at = 0; at < said.length; at += length) read += push(said.slice(at, at + length));
      expect(read).toBe(said);
    }
  });

  it('[G223] passes on in one piece what comes at once, and what stands around a message in two', () => {
    const { bytes } = setUp();
    const pieces = (text: string): string[] =>
      bytes.push(Buffer.from(text)).map((each) => Buffer.from(each).toString());
    const said = `PING\r\n${message(5)}${message(7)}+OK\r\n`;
    expect(pieces(said)).toEqual([said]);
    expect(pieces(`${message(5)}${message(101)}${message(7)}`)).toEqual([message(5), message(7)]);
  });

  it('leaves a message out that is too large, wherever it is cut, and says so', () => {
    const said = `PING\r\n${message(101)}${message(100)}`;
    for (const length of [1, 3, 50, said.length]) {
      const { push, tooLarge } = setUp();
      let read = '';
      for (let at = 0; at < said.length; at += length) read += push(said.slice(at, at + length));
      expect(read).toBe(`PING\r\n${message(100)}`);
      expect(tooLarge).toEqual([101]);
    }
  });

  it.each([
    ['garbage', 'garbage\r\n', /does not speak the protocol/],
    ['a web server', 'HTTP/1.1 200 OK\r\n', /does not speak the protocol/],
    ['a line without an end', `MSG ${'a'.repeat(70_000)}`, /a line of more than 65536 bytes/],
    ['a bare line feed', 'PING\n', /without a carriage return/],
    ['a hidden carriage return', `INFO {"a":"\r"}\r\n`, /carriage return within/],
    ['no size', 'MSG a 1\r\n', /does not speak the protocol/],
    ['a negative size', 'MSG a 1 -5\r\n', /does not speak the protocol/],
    ['a size beyond NATS', 'MSG a 1 99999999\r\n', /a message of 99999999 bytes/],
    ['headers beyond the message', 'HMSG a 1 9 5\r\n', /of 5 bytes with 9 of headers/],
    ['a message that goes on', 'MSG a 1 1\r\nxyz\r\n', /does not end where it should/],
    ['no JSON', 'INFO {"version":\r\n', /does not greet/],
    ['null', 'INFO null\r\n', /no version/],
    ['a payload that cannot be', 'INFO {"version":"2.1.0","max_payload":-1}\r\n', /a payload/],
    ['half a number', 'INFO {"version":"2.1.0","max_payload":0.5}\r\n', /a payload/],
    ['no version', 'INFO {"version":"","max_payload":5}\r\n', /no version/],
  ])('refuses %s', (_what, said, reason) => {
    const { push } = setUp();
    expect(() => push(said)).toThrow(BadServer);
    expect(() => setUp().push(said)).toThrow(reason);
  });

  it('keeps 64 servers of a cluster, of those that have an address', () => {
    const urls = Array.from({ length: 1000 }, (_, n) =>
      n % 2 === 0 ? `10.0.0.1:${n + 1}` : 'a:b',
    );
    const info = { ...JSON.parse(INFO), connect_urls: [null, 7, '999.1.1.1:4', ...urls] };
    const read = setUp().push(`INFO ${JSON.stringify(info)}\r\n`);
    const { connect_urls: kept } = JSON.parse(read.slice('INFO '.length));
    expect(kept).toHaveLength(64);
    expect(kept.slice(0, 2)).toEqual(['10.0.0.1:1', '10.0.0.1:3']);
  });
});
