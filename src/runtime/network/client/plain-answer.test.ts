import { describe, expect, it, test } from 'vitest';
import { plainHead } from './plain-answer.ts';

const headOf = (text: string) => plainHead(Buffer.from(text, 'latin1'));

describe('[D220] an answer that needs no more of HTTP than its length is plain', () => {
  it.each([
    ['the usual one', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello', 200, 5],
    ['no reason', 'HTTP/1.1 503\r\nContent-Length:0\r\n\r\n', 503, 0],
    [
      'one of a Python server',
      'HTTP/1.1 200 OK\r\ndate: Sun, 22 Nov 2026 10:00:00 GMT\r\nserver: uvicorn\r\ncontent-length: 31 \r\ncontent-type: text/plain\r\n\r\n',
      200,
      31,
    ],
    [
      'one of Node',
      'HTTP/1.1 404 Not Found\r\nDate: x\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\nContent-Length: 12\r\n\r\n',
      404,
      12,
    ],
  ])('%s', (_name, text, status, bodyBytes) => {
    expect(headOf(text)).toEqual({ status, bodyBytes, headBytes: text.indexOf('\r\n\r\n') + 4 });
  });
});

describe('[D220] all other answers are not', () => {
  const length = 'content-length: 5\r\n';
  it.each([
    ['nothing', ''],
    ['another protocol', '220 mail ready\r\n\r\n'],
    ['an older version', `HTTP/1.0 200 OK\r\n${length}\r\n`],
    ['a head without an end', `HTTP/1.1 200 OK\r\n${length}`],
    ['lines without a return', `HTTP/1.1 200 OK\n${length}\n\n\r\n\r\n`],
    ['an interim answer', 'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n'],
    ['one that has no body', `HTTP/1.1 304 Not Modified\r\n${length}\r\n`],
    ['one without a length', 'HTTP/1.1 200 OK\r\nserver: x\r\n\r\n'],
    ['two lengths', `HTTP/1.1 200 OK\r\n${length}Content-Length: 6\r\n\r\n`],
    ['two equal lengths', `HTTP/1.1 200 OK\r\n${length}${length}\r\n`],
    ['a list of lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 5, 5\r\n\r\n'],
    ['a negative length', 'HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n'],
    ['a hexadecimal length', 'HTTP/1.1 200 OK\r\ncontent-length: 0x5\r\n\r\n'],
    ['a length that no body has', 'HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n'],
    ['a length with a name too long', 'HTTP/1.1 200 OK\r\nx-content-length: 5\r\n\r\n'],
    ['a space before the colon', 'HTTP/1.1 200 OK\r\ncontent-length : 5\r\n\r\n'],
    ['chunks', `HTTP/1.1 200 OK\r\n${length}Transfer-Encoding: chunked\r\n\r\n`],
    ['an end of the connection', `HTTP/1.1 200 OK\r\n${length}connection: close\r\n\r\n`],
    ['several words', `HTTP/1.1 200 OK\r\n${length}connection: keep-alive, close\r\n\r\n`],
    ['another protocol offered', `HTTP/1.1 200 OK\r\n${length}upgrade: h2c\r\n\r\n`],
    ['trailers', `HTTP/1.1 200 OK\r\n${length}trailer: x\r\n\r\n`],
    ['a folded line', `HTTP/1.1 200 OK\r\nx: a\r\n transfer-encoding: b\r\n${length}\r\n`],
    ['a very long head', `HTTP/1.1 200 OK\r\n${length}x: ${'y'.repeat(9000)}\r\n\r\n`],
  ])('%s', (_name, text) => {
    expect(headOf(text)).toBeUndefined();
  });
});

test('[D220] a length in the body is not one of the head', () => {
  expect(headOf('HTTP/1.1 200 OK\r\n\r\n\r\ncontent-length: 5\r\n\r\n')).toBeUndefined();
});
