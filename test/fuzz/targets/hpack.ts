import {
  type DecodedHeaders,
  HeaderDecoder,
  HpackError,
} from '../../../src/extproc/http2/hpack/header-decoder.ts';
import { encodeHeaders } from '../../../src/extproc/http2/hpack/header-encoder.ts';
import { expected, type FuzzTarget, promise } from '../target.ts';

const LIST_BYTES_MAX = 4096;
const LIMITS = { tableBytesMax: 4096, listBytesMax: LIST_BYTES_MAX };

/** Examples of RFC 7541, appendix C: literals, the dynamic table, and Huffman codes. */
const BLOCKS = [
  '828684410f7777772e6578616d706c652e636f6d',
  '828684be58086e6f2d6361636865',
  '828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565',
  '828684418cf1e3c2e5f23a6ba0ab90f4ff',
  '828684be5886a8eb10649cbf',
  '828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf',
  '3fe11f8286844003782d61026262',
  '20828684',
].map((hex) => Buffer.from(hex, 'hex'));

/** Blocks with a byte for the length before each. */
const lengths = (...blocks: readonly Buffer[]): Buffer =>
  Buffer.concat(blocks.map((block) => Buffer.concat([Buffer.of(block.length), block])));

function blocksIn(input: Uint8Array): readonly Uint8Array[] {
  const blocks: Uint8Array[] = [];
  for (let at = 0; at < input.length; ) {
    const length = input[at] ?? 0;
    blocks.push(input.subarray(at + 1, at + 1 + length));
    at += 1 + length;
  }
  return blocks;
}

function check({ fields, fault }: DecodedHeaders): string {
  let bytes = 0;
  for (const [name, value] of fields) bytes += name.length + value.length;
  promise(bytes <= LIST_BYTES_MAX, () => `a list of ${bytes} bytes`);
  if (fault !== undefined) return fault;
  // Values of a repeated name are joined, which may give one that is not allowed by itself.
  const list = [...fields].filter(([, value]) => !value.includes(', '));
  const again = [...new HeaderDecoder(LIMITS).decode(encodeHeaders(list)).fields];
  const [was, is] = [JSON.stringify(list), JSON.stringify(again)];
  promise(was === is, () => `${was} is read as ${is}`);
  return String(Math.min(6, fields.size));
}

/**
 * Blocks of one connection. Each is a list within its bound or an HpackError, the same one when it
 * is read beside other blocks, and a list that a request may have is read again as it is written.
 */
export const hpack: FuzzTarget = {
  name: 'hpack',
  inputBytesMax: 600,
  seeds: [lengths(...BLOCKS.slice(0, 3)), lengths(...BLOCKS.slice(3)), lengths(...BLOCKS)],
  words: ['\x82\x86\x84', '\xbe', '\x40\x01', '\x41\x8c', '\x20', '\x3f\xe1\x1f', '\x7f\x80\x01'],
  run: (input) => {
    const decoder = new HeaderDecoder(LIMITS);
    const outcomes: string[] = [];
    try {
      for (const [at, block] of blocksIn(input).entries()) {
        const kind = at % 4 === 3 ? 'trailers' : 'head';
        outcomes.push(check(decoder.decode(Buffer.from(block), kind)));
      }
    } catch (error) {
      outcomes.push(expected(error, HpackError));
    }
    return outcomes.slice(-3).join();
  },
};
