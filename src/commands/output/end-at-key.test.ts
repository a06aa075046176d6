import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { endAtKey, type Keys } from './end-at-key.ts';

/** What comes of these keys at a terminal, or where there is none. */
function pressed(keys: readonly string[], isTTY = true) {
  const raw: boolean[] = [];
  const sent: string[] = [];
  const input = Object.assign(new EventEmitter(), {
    isTTY,
    setRawMode: (mode: boolean) => raw.push(mode),
  });
  endAtKey(input as unknown as Keys, (signal) => sent.push(signal));
  process.removeAllListeners('SIGCONT');
  for (const key of keys) input.emit('data', Buffer.from(key));
  return { raw, sent };
}

it('[O371] ends at q and at Ctrl-C, stops at Ctrl-Z, and gives the terminal back before', () => {
  expect(pressed(['x', 'q'])).toEqual({ raw: [true, false], sent: ['SIGINT'] });
  expect(pressed(['\u0003'])).toEqual({ raw: [true, false], sent: ['SIGINT'] });
  expect(pressed(['\u001a'])).toEqual({ raw: [true, false], sent: ['SIGTSTP'] });
});

it('[O371] leaves standard input alone where it is no terminal', () => {
  expect(pressed(['q'], false)).toEqual({ raw: [], sent: [] });
});
