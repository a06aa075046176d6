import { HpackError } from './hpack-error.ts';

/**
 * The length in bits of each byte's code, 16 bytes a row (RFC 7541, appendix B). The code is
 * canonical: codes count upwards by length, and within a length by byte, so lengths say it all.
 */
const CODE_BITS = `
  13 23 28 28 28 28 28 28 28 24 30 28 28 30 28 28
  28 28 28 28 28 28 30 28 28 28 28 28 28 28 28 28
   6 10 10 12 13  6  8 11 10 10  8 11  8  6  6  6
   5  5  5  6  6  6  6  6  6  6  7  8 15  6 12 10
  13  6  7  7  7  7  7  7  7  7  7  7  7  7  7  7
   7  7  7  7  7  7  7  7  8  7  8 13 19 13 14  6
  15  5  6  5  6  5  6  6  6  5  7  7  6  6  6  5
   6  7  6  5  5  6  7  7  7  7  7 15 11 14 13 28
  20 22 20 20 22 22 22 23 22 23 23 23 23 23 24 23
  24 24 22 23 24 23 23 23 23 21 22 23 22 23 23 24
  22 21 20 22 22 23 23 21 23 22 22 24 21 22 23 23
  21 21 22 21 23 22 23 23 20 22 22 22 23 22 22 23
  26 26 20 19 22 23 22 25 26 26 26 27 27 26 24 25
  19 21 26 27 27 26 27 24 21 21 26 26 28 27 27 27
  20 24 20 21 22 21 21 23 22 22 25 25 24 24 26 23
  26 27 26 26 27 27 27 27 27 28 27 27 27 27 27 26`
  .trim()
  .split(/\s+/)
  .map(Number);
/** The end of a string, which must not occur in one, has the last code: 30 ones. */
const END = 256;
const BITS_MAX = 30;
/** Padding is shorter than a byte, and is the beginning of END's code. */
const PADDING_BITS_MAX = 7;

/**
 * What four further bits do, by `node << 4 | bits`: the next node in the lower eight bits, the
 * decoded byte in the next eight, and whether there is one. A code has at least five bits, so four
 * bits never end two.
 */
const STEPS = new Uint32Array(256 << 4);
const EMITS = 1 << 16;
const FAILS = 1 << 17;
/** By node: whether a string may end there. */
const MAY_END = new Uint8Array(256);

/** The children of each inner node, by `2 * node + bit`: a further node, or `~byte`. */
function codeTree(): Int16Array {
  const children = new Int16Array(512);
  let nodes = 1;
  let code = 0;
  for (let bits = 1; bits <= BITS_MAX; bits++, code *= 2) {
    for (let symbol = 0; symbol <= END; symbol++) {
      if ((CODE_BITS[symbol] ?? BITS_MAX) !== bits) continue;
      let node = 0;
      for (let bit = bits - 1; bit > 0; bit--) {
        const branch = 2 * node + ((code >>> bit) & 1);
        if (children[branch] === 0) children[branch] = nodes++;
        node = children[branch] as number;
      }
      children[2 * node + (code & 1)] = ~symbol;
      code++;
    }
  }
  return children;
}

function fillSteps(children: Int16Array): void {
  for (let at = 0; at < STEPS.length; at++) {
    let node = at >>> 4;
    let done = 0;
    for (let bit = 3; bit >= 0; bit--) {
      const child = children[2 * node + ((at >>> bit) & 1)] as number;
      node = Math.max(child, 0);
      if (child < 0) done = ~child === END ? FAILS : EMITS | (~child << 8);
    }
    STEPS[at] = done | node;
  }
  for (let bits = 0, node = 0; bits <= PADDING_BITS_MAX; bits++) {
    MAY_END[node] = 1;
    node = children[2 * node + 1] as number;
  }
}

fillSteps(codeTree());

const OUTPUT_BYTES = 4096;
const output: Buffer = Buffer.allocUnsafeSlow(OUTPUT_BYTES);

/** The string whose code stands from `start` to `end`. Throws HpackError. */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number): string {
  const lengthMax = Math.ceil(((end - start) * 8) / 5);
  const into = lengthMax <= OUTPUT_BYTES ? output : Buffer.allocUnsafe(lengthMax);
  let length = 0;
  let node = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    const high = STEPS[(node << 4) | (byte >>> 4)] as number;
    if ((high & EMITS) !== 0) into[length++] = high >>> 8;
    const low = STEPS[((high & 0xff) << 4) | (byte & 15)] as number;
    if ((low & EMITS) !== 0) into[length++] = low >>> 8;
    if (((high | low) & FAILS) !== 0) throw new HpackError('a string holds the code of its end');
    node = low & 0xff;
  }
  if (MAY_END[node] === 0) throw new HpackError('a string ends with bits that are no padding');
  return into.toString('latin1', 0, length);
}
