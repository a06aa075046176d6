import { kubernetesQuantity } from '../../framework/values/kubernetes-quantity.ts';

/**
 * The bytes of a Kubernetes quantity, such as `10Mi` or `25M`, with or without a `B` at its end.
 * Undefined for a text that is none, and for more bytes than can be counted exactly.
 */
export function bytesOf(text: string): number | undefined {
  const quantity = text.trim().replace(/(?<=.)[bB]$/, '');
  // `100m` is a tenth of a byte: a person who writes it means something else.
  if (/[num]$/.test(quantity)) return undefined;
  const bytes = kubernetesQuantity(quantity);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
