import { expect, it } from 'vitest';
import { printable } from './printable.ts';

it('[O476] a name cannot clear the screen, go back in its line, or turn the direction of others', () => {
  const name = 'a\u001b[2J\rb\u0007\u009b31m\u202ec\u2066';
  expect(printable(`${name}\n\tnext 模型 מודל é`)).toBe(
    'a\\u001b[2J\\u000db\\u0007\\u009b31m\\u202ec\\u2066\n\tnext 模型 מודל é',
  );
});
