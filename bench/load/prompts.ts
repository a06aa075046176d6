import type { Random } from '../../src/framework/runtime.ts';

export interface PromptOptions {
  /** Exact size of the JSON body. */
  readonly bodyBytes: number;
  readonly stream: boolean;
  readonly random: Random;
  /** The part of each prompt, from its beginning, that others have as well. */
  readonly sharedPart?: number;
}

/**
 * The first half of each prompt, unless another part is given, is one of so many texts, like system
 * prompts and earlier turns; the rest occurs once.
 */
const SHARED_PART = 0.5;
const SHARED_TEXTS = 32;
const PIECES = 4096;
const PIECE_BYTES = 128;

const WORDS =
  'the of and a to in is you that it he was for on are as with his they I at be this have from or one had by word but not what all were we when your can said there use an each which she do how their if will up other about out many then them these so some her would make like him into time has look two more write go see number no way could people my than first water been call who oil its now find long down day did get come made may part'.split(
    ' ',
  );

/**
 * Makes complete HTTP requests with chat prompts of one size. All prompts are different, have
 * escapes and characters beyond ASCII like real text, and share their first part with others, so
 * that parsing and prefix matching do realistic work. Throws if no prompt fits into `bodyBytes`.
 */
export function createPrompts({
  bodyBytes,
  stream,
  random,
  sharedPart = SHARED_PART,
}: PromptOptions): () => Buffer {
  const pieces = Array.from({ length: PIECES }, () => piece(random));
  const opening = Buffer.from(
    '{"model":"meta-llama/Llama-3.1-8B-Instruct","messages":[{"role":"system","content":"',
  );
  const turn = Buffer.from('"},{"role":"user","content":"');
  const closing = Buffer.from(`"}],"max_tokens":200,"stream":${stream}}`);
  const uniqueBytes = 12;
  const textBytes = bodyBytes - opening.length - turn.length - uniqueBytes - closing.length;
  if (textBytes < PIECE_BYTES) throw new Error(`no chat prompt fits into ${bodyBytes} bytes`);
  const sharedBytes = Math.floor(textBytes * sharedPart);
  const shared = Array.from({ length: SHARED_TEXTS }, () => {
    const text = Buffer.alloc(sharedBytes, ' ');
    fill(text, 0, sharedBytes, pieces, random);
    return text;
  });
  const head = Buffer.from(
    'POST /v1/chat/completions HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n' +
      `content-length: ${bodyBytes}\r\n\r\n`,
  );
  let sequence = 0;
  return () => {
    const out = Buffer.allocUnsafe(head.length + bodyBytes);
    let at = head.copy(out);
    at += opening.copy(out, at);
    at += shared[Math.floor(random.next() * SHARED_TEXTS)]?.copy(out, at) ?? 0;
    at += turn.copy(out, at);
    at += out.write(`#${String(sequence++).padStart(uniqueBytes - 2, '0')} `, at, 'latin1');
    at = fill(out, at, out.length - closing.length, pieces, random);
    closing.copy(out, at);
    return out;
  };
}

function fill(
  out: Buffer,
  from: number,
  end: number,
  pieces: readonly Buffer[],
  random: Random,
): number {
  let at = from;
  while (end - at >= PIECE_BYTES) {
    const next = pieces[Math.floor(random.next() * pieces.length)];
    at += next?.copy(out, at) ?? PIECE_BYTES;
  }
  out.fill(' ', at, end);
  return end;
}

/** JSON-escaped text of exactly `PIECE_BYTES`, so that pieces can be combined in any order. */
function piece(random: Random): Buffer {
  let text = '';
  for (;;) {
    const drawn = random.next();
    const word = WORDS[Math.floor(random.next() * WORDS.length)] ?? '';
    const next = text + dressed(word, drawn);
    if (Buffer.byteLength(next) > PIECE_BYTES) break;
    text = next;
  }
  const out = Buffer.alloc(PIECE_BYTES, ' ');
  out.write(text, 'utf8');
  return out;
}

function dressed(word: string, drawn: number): string {
  if (drawn < 0.06) return `${word}.\\n`;
  if (drawn < 0.09) return `\\"${word}\\" `;
  if (drawn < 0.1) return `${word} – `;
  return drawn < 0.2 ? `${word}, ` : `${word} `;
}
