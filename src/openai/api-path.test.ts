import fc from 'fast-check';
import { expect, it } from 'vitest';
import { apiPath } from './api-path.ts';
import { selectReading } from './parsers/select-reading.ts';

const CHAT = '/v1/chat/completions';
const readingOf = selectReading();

it.each([
  CHAT,
  `${CHAT}/`,
  `${CHAT}?a=%2F`,
  `${CHAT}#fragment`,
  `${CHAT}%0A`,
  `${CHAT}%00`,
  `${CHAT}%00/other`,
  '/v1/chat%2Fcompletions',
  '/v1/%63hat/completion%73',
  '/v1//chat///completions//',
  '/v1/./chat/x/../completions',
  '/v1/%2e/chat/%2E%2E/chat/completions',
  '/v1;a=b/chat/completions;jsessionid=1',
  '/v1/Chat/COMPLETIONS',
  '/v1\\chat\\completions',
  '/proxy/v1/chat/completions%20',
])('[V55] %j is read as a chat completion', (path) => {
  expect(readingOf(path)?.shape?.name).toBe('a chat completion');
});

it('[V55] a path is decoded once, and what is no API stays none', () => {
  expect(apiPath('/v1/%2563hat')).toBe('/v1/%63hat');
  expect(apiPath('/v1/%zz%2')).toBe('/v1/%zz%2');
  expect(apiPath('/v1/chat/completions%3Fa')).toBe('/v1/chat/completions?a');
  for (const path of ['/', '', '/v1/files', `${CHAT}/other`, '/v1/chat%252Fcompletions']) {
    expect(readingOf(path)?.shape).toBeUndefined();
  }
  expect(readingOf('/%67enerate')?.shape?.name).toBe('a generate request');
  expect(readingOf('/v1/generate')?.shape).toBeUndefined();
});

it('[V55] a path leads to the same API however it is encoded, and with `..` in it', () => {
  const encoded = fc
    .tuple(fc.constantFrom(...CHAT.split('')), fc.nat(2))
    .map(([character, way]) => {
      const hex = character.charCodeAt(0).toString(16);
      return way === 0 ? character : `%${way === 1 ? hex : hex.toUpperCase()}`;
    });
  const detours = fc.array(fc.constantFrom('/', './', 'x/../', '%2e/', ';a/'), { maxLength: 4 });
  fc.assert(
    fc.property(fc.array(fc.nat(2), { maxLength: 30 }), detours, (ways, around) => {
      const path = CHAT.split('').map((character, at) => {
        const hex = character.charCodeAt(0).toString(16);
        return (ways[at] ?? 0) === 0 ? character : `%${ways[at] === 1 ? hex : hex.toUpperCase()}`;
      });
      expect(apiPath(`/${around.join('')}${path.join('')}`)).toBe(CHAT);
    }),
    { numRuns: 2000, seed: 55 },
  );
  fc.assert(
    fc.property(fc.array(encoded, { maxLength: 40 }), fc.string(), (parts, end) => {
      const once = apiPath(parts.join('') + end);
      expect(once.length).toBeLessThanOrEqual(parts.join('').length + end.length + 1);
    }),
    { numRuns: 2000, seed: 56 },
  );
});

it('[V59] any path leads to one without empty, dotted or parameter segments', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (path) => {
      expect(() => apiPath(path)).not.toThrow();
    }),
    { numRuns: 5000, seed: 57 },
  );
});
