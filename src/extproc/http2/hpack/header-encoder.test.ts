import { describe, expect, it } from 'vitest';
import { encodeHeaders } from './header-encoder.ts';

describe('the encoder of headers', () => {
  it.each([
    [':status', '200', '88'],
    [':status', '500', '8e'],
    [':status', '418', '0803343138'],
    ['content-type', 'a', '0f100161'],
    ['content-type', '', '9f'],
    ['x', 'yz', '00017802797a'],
    ['x', 'y'.repeat(127), `0001787f00${'79'.repeat(127)}`],
    ['x', 'y'.repeat(300), `0001787fad01${'79'.repeat(300)}`],
    ['x', '\xe4', '00017801e4'],
  ])('[V184] writes %s: %s without a table', (name, value, block) => {
    expect(encodeHeaders([[name, value]]).toString('hex')).toBe(block);
  });

  it.each([
    ['x', 'a\r\nb: c'],
    ['x', 'a\0'],
    ['x', ' a'],
    // Written in one byte, this character would be a line break.
    ['x', 'a\u010ab'],
    ['x y', 'a'],
    ['X', 'a'],
    [':status', '200\n'],
    ['content-type', 'a\n'],
    ['connection', 'close'],
  ])('[V184] refuses %j: %j, which would break the message', (name, value) => {
    expect(() => encodeHeaders([[name, value]])).toThrow(
      new TypeError(`HTTP/2 allows no header ${JSON.stringify([name, value])}`),
    );
  });
});
