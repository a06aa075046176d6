/** Invented constant: the chosen token is the likeliest. */
const CHOSEN = -0.105;

interface Alternative {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[];
}

function alternatives(token: string, count: number): readonly Alternative[] {
  return Array.from({ length: count }, (_, rank) => {
    const text = rank === 0 ? token : `${token.slice(0, 3)}${rank}`;
    return { token: text, logprob: CHOSEN - rank, bytes: [...Buffer.from(text)] };
  });
}

export function chatLogprobs(tokens: readonly string[], top: number): object {
  return {
    content: tokens.map((token) => ({
      token,
      logprob: CHOSEN,
      bytes: [...Buffer.from(token)],
      top_logprobs: alternatives(token, top),
    })),
  };
}

/** The `logprobs` of the completions API; `offset` is the first token's position in the text. */
export function completionLogprobs(tokens: readonly string[], top: number, offset: number): object {
  let at = offset;
  const offsets = tokens.map((token) => {
    const start = at;
    at += token.length;
    return start;
  });
  return {
    text_offset: offsets,
    token_logprobs: tokens.map(() => CHOSEN),
    tokens,
    top_logprobs: tokens.map((token) =>
      Object.fromEntries(
        alternatives(token, Math.max(1, top)).map((each) => [each.token, each.logprob]),
      ),
    ),
  };
}
