import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type HttpMessage, HttpReader } from './http-reader.ts';

const STREAM =
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello' +
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n' +
  'GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n' +
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx-trailer: 1\r\n\r\n' +
  'HTTP/1.1 503 Unavailable\r\ncontent-length: 0\r\n\r\n';

function read(cuts: readonly number[]): readonly (readonly [string, number, number])[] {
  const messages: HttpMessage[] = [];
  const reader = new HttpReader((message) => messages.push(message));
  const bytes = Buffer.from(STREAM, 'latin1');
  const edges = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
  edges.slice(1).forEach((end, index) => reader.push(bytes.subarray(edges[index], end)));
  return messages.map(({ head, bodyBytes, pieces }) => [
    head.split('\r\n', 1)[0] ?? '',
    bodyBytes,
    pieces,
  ]);
}

describe('HttpReader', () => {
  it('finds every message however the bytes are cut', () => {
    const whole = read([]);
    expect(whole).toEqual([
      ['HTTP/1.1 200 OK', 5, 0],
      ['HTTP/1.1 200 OK', 13, 2],
      ['GET /metrics HTTP/1.1', 0, 0],
      ['HTTP/1.1 200 OK', 1, 1],
      ['HTTP/1.1 503 Unavailable', 0, 0],
    ]);
    fc.assert(
      fc.property(fc.array(fc.nat({ max: STREAM.length }), { maxLength: 40 }), (cuts) => {
        expect(read(cuts)).toEqual(whole);
      }),
      { seed: 20_261 },
    );
  });

  it('refuses a chunk size that is none', () => {
    const reader = new HttpReader(() => undefined);
    const bytes = Buffer.from('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n');
    expect(() => reader.push(bytes)).toThrow('chunk size "zz"');
  });
});
