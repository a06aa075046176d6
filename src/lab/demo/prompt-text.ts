import { BLOCK_TOKENS, type TraceRow } from './mooncake-trace.ts';

/** The stub counts four bytes of text as one token, and so does the picker's estimate. */
const TOKEN_BYTES = 4;

/** Text of exactly the row's length in which equal block ids are equal text and different ids differ from the first bytes on. */
export function promptText({ inputTokens, hashIds }: TraceRow): string {
  const parts: string[] = [];
  let tokensLeft = inputTokens;
  for (const id of hashIds) {
    const bytes = TOKEN_BYTES * Math.min(BLOCK_TOKENS, tokensLeft);
    const word = `passage ${id}, `;
    parts.push(word.repeat(Math.ceil(bytes / word.length)).slice(0, bytes));
    tokensLeft -= BLOCK_TOKENS;
  }
  return parts.join('');
}
