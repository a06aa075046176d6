import { z } from 'zod';

/** The length below which a share of all lengths is, for any share of 0 to 1. */
export type LengthQuantiles = (share: number) => number;

type Mark = readonly [share: number, length: number];

const EXPECTED =
  'must be percents and lengths in ascending order from 0 to 100, as in 0:10 50:37 100:256';

/** Reads `0:10 50:37 100:256`: percents and lengths. Between two of them, lengths are even. */
export const lengthQuantiles: z.ZodType<LengthQuantiles> = z.string().transform((text, context) => {
  const marks = text.split(/\s+/).map((pair): Mark => {
    const [percent = Number.NaN, length = Number.NaN] = pair.split(':').map(Number);
    return [percent / 100, length];
  });
  const sound = marks.every(([share, length], index) => {
    const [shareBefore, lengthBefore] = marks[index - 1] ?? [-1, 0];
    return share > shareBefore && length >= lengthBefore;
  });
  if (sound && marks[0]?.[0] === 0 && marks.at(-1)?.[0] === 1) return between(marks);
  context.addIssue({ code: 'custom', message: EXPECTED });
  return z.NEVER;
});

function between(marks: readonly Mark[]): LengthQuantiles {
  return (share) => {
    const after = Math.max(
      1,
      marks.findIndex(([mark]) => mark >= share),
    );
    const [left, low] = marks[after - 1] as Mark;
    const [right, high] = marks[after] as Mark;
    return low + ((share - left) / (right - left)) * (high - low);
  };
}

/** `number` lengths whose mean is `mean`, spread as `quantiles` says, in ascending order. */
export function spreadLengths(
  quantiles: LengthQuantiles | undefined,
  { mean, number }: { readonly mean: number; readonly number: number },
): readonly number[] {
  const shape = Array.from({ length: number }, (_, index) =>
    quantiles === undefined ? 1 : quantiles((index + 0.5) / number),
  );
  const scale = (mean * number) / shape.reduce((sum, length) => sum + length, 0);
  return shape.map((length) => scale * length);
}
