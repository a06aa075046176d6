/** Suffixes of Kubernetes quantities of whole bytes. */
const FACTORS: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/**
 * The bytes of a Kubernetes quantity, such as `10Mi` or `25M`, with or without a `B` at its end.
 * Undefined for a text that is none, and for more bytes than can be counted exactly.
 */
export function bytesOf(text: string): number | undefined {
  const [, digits = '', suffix = ''] =
    /^\+?(\d+(?:\.\d+)?)([kMGT]i?|Ki)?[Bb]?$/.exec(text.trim()) ?? [];
  const factor = FACTORS[suffix];
  if (digits === '' || factor === undefined) return undefined;
  const bytes = Math.ceil(Number(digits) * factor);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
