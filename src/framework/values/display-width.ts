/** One column of a terminal for each character. */
const PLAIN = /^[\x20-\x7e]*$/;
/** Characters without a column: marks on the one before, joiners and selectors of variants. */
const NO_WIDTH = /^[\p{M}\p{Cf}]+$/u;
/** Characters of two columns: those of East Asian scripts and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u;

const graphemes = new Intl.Segmenter();

/** The columns of a terminal that a text takes. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    if (!NO_WIDTH.test(segment)) width += WIDE.test(segment) ? 2 : 1;
  }
  return width;
}

/** The text with spaces behind or before it, so that it takes so many columns. */
export function padded(text: string, width: number, side: 'behind' | 'before'): string {
  const spaces = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return side === 'behind' ? text + spaces : spaces + text;
}
