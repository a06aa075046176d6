const UNITS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/**
 * The number that a quantity of Kubernetes stands for, such as `10Gi`, `1k` or `1e6`, rounded up to
 * a whole one. Undefined for another text, and for a negative quantity.
 */
export function kubernetesQuantity(text: string): number | undefined {
  const read = /^\+?(\d+\.?\d*|\.\d+)(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?$/.exec(text);
  if (read === null) return undefined;
  const [, digits = '', exponent = '', unit] = read;
  return Math.ceil(Number(`${digits}${exponent}`) * (UNITS[unit ?? ''] ?? 1));
}
