const BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/**
 * 32-bit FNV-1a over the UTF-16 units of a text, without a sign. Equal in every process, and easy
 * to make collide: `KeyedHash` is for texts that clients choose.
 */
export function fnvHash(text: string, seed = 0): number {
  let hash = BASIS ^ seed;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), PRIME);
  return hash >>> 0;
}
