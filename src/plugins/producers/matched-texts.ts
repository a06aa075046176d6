import type { PromptBlocks } from '../../framework/request.ts';

/**
 * By owner, the blocks that it holds of all texts of a request together, each text matched from its
 * beginning, as engines and the reference do.
 */
export function matchedTexts(
  prompt: PromptBlocks,
  matchedOf: (text: PromptBlocks) => ArrayLike<number>,
): ArrayLike<number> {
  const first = matchedOf(prompt);
  if (prompt.others === undefined) return first;
  const sums = Array.from(first);
  for (const text of prompt.others) {
    const matched = matchedOf(text);
    for (let owner = 0; owner < matched.length; owner++) {
      sums[owner] = (sums[owner] ?? 0) + (matched[owner] ?? 0);
    }
  }
  return sums;
}
