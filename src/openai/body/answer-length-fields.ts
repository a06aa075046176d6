import { input } from '../kernel/byte-kernel.ts';

/** Above so many tokens of reasoning, an answer is long. */
const LONG_REASONING = 4000;
/** Longest string that can say something: a number, or a choice. */
const TEXT_BYTES_MAX = 32;
const TEMPLATE = 'chat_template_kwargs';
/** The names in it that are read: a body can have millions of others. */
const TEMPLATE_NAMES: ReadonlySet<string> = new Set([
  'enable_thinking',
  'thinking_budget',
  'reasoning_budget',
]);

/** Strings that Go reads as truth values. */
const TRUTH: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map((text) => [text, false] as const),
]);

type Value = string | number | boolean;

/**
 * Finds what a body says about the length of its answer, as the reference's `outlen-bucket` reads
 * it: reasoning, tools and a message to be continued in a chat, and the choice of a tool anywhere.
 */
export class AnswerLengthFields {
  readonly #isChat: boolean;
  /** The values of a chat's template, by name; `thinking` is that of its `type`. */
  readonly #template: Map<string, Value> = new Map();
  #field = '';
  #name = '';
  #inner = '';
  #hasTools = false;
  #isToolList = false;
  #continues = false;
  #toolChoice = '';
  #text = '';
  #textBytes = 0;

  constructor(isChat: boolean) {
    this.#isChat = isChat;
  }

  /** What the body says so far; a repeated field counts by its last value. */
  get answerLength(): 'short' | 'long' | undefined {
    const thinks = this.#thinks();
    if (thinks === true) return 'long';
    if (thinks === undefined && (this.#reasoningTokens() ?? 0) > LONG_REASONING) return 'long';
    const choice = this.#toolChoice;
    if (choice === 'required' || choice === 'named') return 'short';
    if (this.#hasTools && choice !== 'none') return 'short';
    return this.#continues ? 'short' : undefined;
  }

  key(name: string, depth: number): void {
    if (depth === 1) this.#beginField(name);
    else if (depth === 2) {
      this.#name = name;
      if (this.#field === TEMPLATE) this.#template.delete(name);
    } else if (depth === 3) this.#inner = name;
  }

  begin(type: 'object' | 'array', depth: number): void {
    if (depth === 1) {
      this.#isToolList = type === 'array' && this.#isChat && this.#field === 'tools';
      if (type === 'object' && this.#field === 'tool_choice') this.#toolChoice = 'named';
    } else this.#countTool(depth);
  }

  string(from: number, to: number, last: boolean, depth: number): void {
    if (depth > 3 || (this.#field !== TEMPLATE && this.#field !== 'tool_choice')) return;
    this.#textBytes += to - from;
    if (this.#textBytes <= TEXT_BYTES_MAX) {
      this.#text += Buffer.from(input.subarray(from, to)).toString('latin1');
    }
    if (!last) return;
    if (this.#textBytes <= TEXT_BYTES_MAX) this.value(this.#text, depth);
    this.#text = '';
    this.#textBytes = 0;
  }

  value(value: Value, depth: number): void {
    this.#countTool(depth);
    if (depth === 1) {
      if (this.#field === 'tool_choice') this.#toolChoice = String(value);
      if (this.#field === 'continue_final_message')
        this.#continues = this.#isChat && value === true;
    } else if (!this.#isChat || this.#field !== TEMPLATE) return;
    else if (depth === 2) {
      if (TEMPLATE_NAMES.has(this.#name)) this.#template.set(this.#name, value);
    } else if (depth === 3 && this.#name === 'thinking' && this.#inner === 'type') {
      this.#template.set('thinking', value);
    }
  }

  #beginField(name: string): void {
    this.#field = name;
    if (name === TEMPLATE) this.#template.clear();
    else if (name === 'tools') this.#hasTools = false;
    else if (name === 'tool_choice') this.#toolChoice = '';
    else if (name === 'continue_final_message') this.#continues = false;
  }

  #countTool(depth: number): void {
    if (depth === 2 && this.#isToolList && this.#field === 'tools') this.#hasTools = true;
  }

  #thinks(): boolean | undefined {
    const enabled = truthOf(this.#template.get('enable_thinking'));
    if (enabled !== undefined) return enabled;
    const type = this.#template.get('thinking');
    if (type === 'enabled') return true;
    return type === 'disabled' ? false : undefined;
  }

  /** The second name is Nemotron's. */
  #reasoningTokens(): number | undefined {
    const [named, other] = ['thinking_budget', 'reasoning_budget'].map((name) =>
      wholeNumberOf(this.#template.get(name)),
    );
    return named ?? other;
  }
}

function truthOf(value: Value | undefined): boolean | undefined {
  if (typeof value === 'string') return TRUTH.get(value);
  return typeof value === 'number' ? value !== 0 : value;
}

function wholeNumberOf(value: Value | undefined): number | undefined {
  if (typeof value === 'string') return /^[+-]?\d+$/.test(value) ? Number(value) : undefined;
  return typeof value === 'number' && Number.isInteger(value) ? value : undefined;
}
