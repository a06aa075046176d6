import { objectOf, type PlainObject } from '../../framework/values/plain-object.ts';

/** Why a request of another API is not read as a chat. */
export type NotAChat =
  /** Only the model's processor knows the tokens of images, sound and files. */
  | 'media'
  /** It has something that is in no chat, such as an answer that the server keeps. */
  | 'no-chat';

export interface ChatMessage {
  role: string;
  content?: string | readonly ChatPart[];
  reasoning?: string;
  tool_calls?: readonly object[];
  tool_call_id?: string;
}

export interface ChatPart {
  readonly type: 'text';
  readonly text: string;
}

const TEXT: ReadonlySet<unknown> = new Set(['text', 'input_text', 'output_text']);
const MEDIA: ReadonlySet<unknown> = new Set([
  'image',
  'image_url',
  'input_image',
  'input_audio',
  'input_file',
]);

/** The chat that a server makes of a request of another API, and the first thing against it. */
export class ChatDraft {
  readonly messages: ChatMessage[] = [];
  #obstacle: NotAChat | undefined;

  get last(): ChatMessage | undefined {
    return this.messages.at(-1);
  }

  /** Says that the request cannot be read as a chat. The first reason counts. */
  refuse(reason: NotAChat): void {
    this.#obstacle ??= reason;
  }

  /** A text; anything else is no chat, and the text is empty then. */
  text(value: unknown): string {
    if (typeof value === 'string') return value;
    this.refuse('no-chat');
    return '';
  }

  /** A list; anything else is no chat, and the list is empty then. */
  list(value: unknown): readonly PlainObject[] {
    if (Array.isArray(value)) return value.map(objectOf);
    this.refuse('no-chat');
    return [];
  }

  /** The texts of a list of parts, each of which must be a text. */
  textParts(value: unknown): readonly ChatPart[] {
    return this.list(value).flatMap((part) => this.textPart(part) ?? []);
  }

  textPart({ type, text }: PlainObject): ChatPart | undefined {
    if (TEXT.has(type)) return { type: 'text', text: this.text(text) };
    this.refuse(MEDIA.has(type) ? 'media' : 'no-chat');
    return undefined;
  }

  /** A tool that the model may call, as a chat has it; fields that are not given are left out. */
  tool(fields: PlainObject): object {
    this.text(fields['name']);
    const given = Object.entries(fields).filter(([, value]) => value !== undefined);
    return { type: 'function', function: Object.fromEntries(given) };
  }

  /** The fields of the chat, or why there is none. */
  fields(others: PlainObject): PlainObject | NotAChat {
    if (this.#obstacle !== undefined) return this.#obstacle;
    const given = Object.entries(others).filter(([, value]) => value !== undefined);
    return { ...Object.fromEntries(given), messages: this.messages };
  }
}

/** A call of a tool that an earlier answer made. */
export function toolCall(id: string, name: string, called: string): object {
  return { id, type: 'function', function: { name, arguments: called } };
}
