import type { NoTokensReason, TokenQuestion } from '../../openai/read-prompt.ts';
import type { RemoteTokenizer } from './remote-tokenizer.ts';

/** Called once, with the token ids of each text, or the first reason why there are none. */
type OnAllTokens = (texts: readonly Uint32Array[] | NoTokensReason) => void;

/**
 * The tokens of several texts, or the first reason why there are none. Undefined: `onTokens` will be
 * called later. What is asked when one fails is not waited for; its answer still serves others.
 */
export function tokensOfAll(
  tokenizer: Pick<RemoteTokenizer, 'tokens'>,
  questions: readonly TokenQuestion[],
  onTokens: OnAllTokens,
): readonly Uint32Array[] | NoTokensReason | undefined {
  const texts: Uint32Array[] = [];
  let missing = questions.length;
  let isOver = false;
  const take = (at: number, tokens: Uint32Array): boolean => {
    texts[at] = tokens;
    missing -= 1;
    return missing === 0;
  };
  for (const [at, question] of questions.entries()) {
    const known = tokenizer.tokens(question, (tokens) => {
      if (isOver) return;
      isOver = typeof tokens === 'string' || take(at, tokens);
      if (isOver) onTokens(typeof tokens === 'string' ? tokens : texts);
    });
    if (known === undefined) continue;
    isOver = typeof known === 'string' || take(at, known);
    if (isOver) return typeof known === 'string' ? known : texts;
  }
  return undefined;
}
