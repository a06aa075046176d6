import { expect, it } from 'vitest';
import { renderChat } from './chat-prompt.ts';

it('[V362] renders a chat of a hundred thousand messages', () => {
  const message = { role: 'user', content: 'abcd' };
  const one = renderChat({ messages: [message] }).ids.length;
  const two = renderChat({ messages: [message, message] }).ids.length;
  const many = renderChat({ messages: Array.from({ length: 100_000 }, () => message) });
  expect(many.ids).toHaveLength(one + 99_999 * (two - one));
});

it('[V362] says where each medium of a chat is', () => {
  const image = { text: undefined, image_url: { url: 'http://a/b' } };
  const content = [image, { text: 'abcde' }, image];
  const { media } = renderChat({ messages: [{ role: 'user', content }] });
  const [first, second] = media;
  expect(first?.tokens).toBe(225);
  expect(second?.offset).toBe((first?.offset ?? 0) + 225 + Math.ceil(5 / 4));
});
