import type { Random } from '../../src/framework/runtime.ts';

/** Answers of a data set: those to known prompts, and all of them. */
export interface Dataset {
  readonly byPrompt: ReadonlyMap<string, readonly string[]>;
  readonly all: readonly string[];
}

/** Where the text of answers comes from, instead of being made up. */
export type AnswerTexts = (asked: () => string, random: Random) => string | undefined;

/** Answers with what was asked last. */
export const ECHO: AnswerTexts = (asked) => asked();

/** An answer of the data set to the same prompt, or else any of its answers. */
export function textsOf({ byPrompt, all }: Dataset): AnswerTexts {
  return (asked, random) => {
    const texts = byPrompt.get(asked()) ?? all;
    return texts[Math.floor(random.next() * texts.length)];
  };
}
