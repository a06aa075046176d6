import { expect, it } from 'vitest';
import { serveCommand } from '../serve-command.ts';
import { withoutEmptyWords } from './empty-words.ts';

it.each([
  [
    ['serve', '', '--observe', '', '--json'],
    ['serve', '--observe', '--json'],
  ],
  [
    ['serve', '--config', '', '', '--observe'],
    ['serve', '--config', '', '--observe'],
  ],
  [
    ['serve', '--config=', '', '--shadow', 'a', ''],
    ['serve', '--config=', '--shadow', 'a'],
  ],
])('[D633] empty words that no option takes are left out: %j', (args, left) => {
  expect(withoutEmptyWords(args, serveCommand())).toEqual(left);
});
