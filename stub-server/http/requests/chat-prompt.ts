import { mediaIn, type PromptMedia, placeholdersOf } from './media.ts';
import { tokenIdsOf, tokenIdsOfAll, tokensIn } from './tokenizer.ts';

export type BytesOf = (text: string) => Buffer;

function utf8(text: string): Buffer {
  return Buffer.from(text, 'utf8');
}

/** A text, several texts, the token ids of one, or those of several. */
export type TextOrTokens =
  | string
  | readonly string[]
  | readonly number[]
  | readonly (readonly number[])[];

export interface ChatMessage {
  readonly role: string;
  readonly content?: string | null | readonly { readonly text?: string | undefined }[] | undefined;
  readonly tool_calls?:
    | readonly { readonly function: { readonly arguments: string } }[]
    | null
    | undefined;
}

/** A function as it stands in the prompt. */
interface DescribedTool {
  readonly function: {
    readonly name?: string | undefined;
    readonly description?: unknown;
    readonly parameters?: unknown;
  };
}

/** The parts of a chat that become the prompt. */
interface ChatPrompt {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly DescribedTool[] | null | undefined;
}

/** A chat as token ids, and where its media are. */
export interface RenderedChat {
  readonly ids: Int32Array;
  readonly media: readonly PromptMedia[];
}

/**
 * Renders a chat with a minimal template, as token ids: tools, each message after its role, and the
 * role of the next answer. Each piece begins with a new token, as after a special token. An answer
 * that is sent back as a message therefore has the tokens that were generated, and its KV is found.
 * A medium becomes placeholder tokens where it stands.
 */
export function renderChat({ messages, tools }: ChatPrompt, bytesOf: BytesOf = utf8): RenderedChat {
  const pieces: Buffer[] = [];
  let tokens = 0;
  const add = (piece: Buffer): void => {
    pieces.push(piece);
    tokens += tokensIn(piece);
  };
  if (tools !== null && tools !== undefined) add(utf8(JSON.stringify(tools.map(described))));
  const media: PromptMedia[] = [];
  for (const message of messages) {
    add(roleOf(message.role));
    for (const part of partsOf(message)) {
      const found = typeof part === 'string' ? undefined : mediaIn(part);
      if (found === undefined) {
        add(bytesOf(typeof part === 'string' ? part : (part.text ?? '')));
        continue;
      }
      const { hash, bytes } = placeholdersOf(found);
      media.push({ modality: found.modality, hash, offset: tokens, tokens: tokensIn(bytes) });
      add(bytes);
    }
    add(END_OF_MESSAGE);
  }
  add(roleOf('assistant'));
  return { ids: tokenIdsOfAll(pieces), media };
}

/** In the order of vLLM: the fields that it knows, then all others. */
function described({
  function: { name, description, parameters, ...others },
}: DescribedTool): object {
  return { type: 'function', function: { name, description, parameters, ...others } };
}

const END_OF_MESSAGE = utf8('<|>\n');
const roleOf = (role: string): Buffer => utf8(`<|${role}|>\n`);

type Part = Exclude<ChatMessage['content'], string | null | undefined>[number];

function partsOf({ content, tool_calls: calls }: ChatMessage): readonly (string | Part)[] {
  const parts = typeof content === 'string' ? [content] : (content ?? []);
  return [...parts, ...(calls ?? []).map((call) => call.function.arguments)];
}

/** Several texts as one; each may be a mark of a long text. */
export function joinTexts(
  texts: readonly string[],
  between: string,
  bytesOf: BytesOf = utf8,
): string {
  const [first = ''] = texts;
  if (texts.length <= 1) return first;
  return texts.map((text) => bytesOf(text).toString('utf8')).join(between);
}

/** The text of the last message. */
export function lastTextOf(messages: readonly ChatMessage[], bytesOf: BytesOf = utf8): string {
  const last = messages.at(-1);
  const parts = last === undefined ? [] : partsOf(last);
  const texts = parts.map((part) => (typeof part === 'string' ? part : (part.text ?? '')));
  return texts.map((text) => bytesOf(text).toString('utf8')).join('');
}

/** The text of one of the prompts; of token ids, the ids. */
export function promptTextAt(prompt: TextOrTokens, index: number, bytesOf: BytesOf = utf8): string {
  if (typeof prompt === 'string') return bytesOf(prompt).toString('utf8');
  const each = typeof prompt[0] === 'number' ? prompt : prompt[index];
  return typeof each === 'string' ? bytesOf(each).toString('utf8') : String(each ?? '');
}

export function promptTokenIds(
  prompt: TextOrTokens,
  bytesOf: BytesOf = utf8,
): readonly Int32Array[] {
  if (typeof prompt === 'string') return [tokenIdsOf(bytesOf(prompt))];
  if (typeof prompt[0] === 'number') return [Int32Array.from(prompt as readonly number[])];
  return (prompt as readonly (string | readonly number[])[]).map((each) =>
    typeof each === 'string' ? tokenIdsOf(bytesOf(each)) : Int32Array.from(each),
  );
}
