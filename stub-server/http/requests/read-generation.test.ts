import { expect, it } from 'vitest';
import { readCompletion } from './read-generation.ts';

it('[O444] refuses a completion with a suffix, also an empty one, and takes null for none', () => {
  const completion = { model: 'm', prompt: 'def f(' };
  for (const suffix of ['return x', '']) {
    expect(() => readCompletion({ ...completion, suffix })).toThrow(
      'suffix is not currently supported',
    );
  }
  expect(readCompletion({ ...completion, suffix: null }).prompts).toHaveLength(1);
});
