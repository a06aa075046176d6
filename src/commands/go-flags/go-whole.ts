const WHOLE =
  /^[+-]?(?:0[xX](?:_?[\da-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0(?:_?[0-7])*|[1-9](?:_?\d)*)$/;

/** A whole number as Go's flags read it: `9002`, `0x232a`, `0o21452`, or `9_002`; `010` is 8. */
export function goWhole(text: string): number | undefined {
  if (!WHOLE.test(text)) return undefined;
  const digits = text.replaceAll('_', '').replace(/^[+-]/, '');
  const value = /^0\d+$/.test(digits) ? Number.parseInt(digits, 8) : Number(digits);
  return text.startsWith('-') ? 0 - value : value;
}
