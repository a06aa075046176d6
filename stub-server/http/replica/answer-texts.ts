import { z } from 'zod';
import { ConfigError } from '../../../src/framework/error.ts';
import type { Random } from '../../../src/framework/runtime.ts';

const turn = z.looseObject({ role: z.string(), content: z.string() });
const entrySchema = z.union([
  z.looseObject({ messages: z.array(turn).min(1) }),
  z.looseObject({ prompt: z.string(), response: z.string().min(1) }),
  z.looseObject({ response: z.string().min(1) }),
]);

/**
 * Reads answers from JSON Lines: each line has `response`, `prompt` and `response`, or the
 * `messages` of a chat, of which each answer is one to the message before. Throws ConfigError.
 */
export function readDataset(text: string, source: string): Dataset {
  const byPrompt = new Map<string, string[]>();
  const all: string[] = [];
  const add = (prompt: string | undefined, response: string): void => {
    all.push(response);
    if (prompt === undefined) return;
    const known = byPrompt.get(prompt);
    if (known === undefined) byPrompt.set(prompt, [response]);
    else known.push(response);
  };
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const entry = entrySchema.safeParse(parsed(line));
    if (!entry.success) {
      const message = 'is no JSON with messages, with prompt and response, or with response';
      throw new ConfigError(source, [{ path: `line ${index + 1}`, message }]);
    }
    const { data } = entry;
    if ('messages' in data) {
      const messages = data.messages as readonly z.infer<typeof turn>[];
      for (const [at, { role, content }] of messages.entries()) {
        if (role === 'assistant' && content !== '') add(messages[at - 1]?.content, content);
      }
    } else add('prompt' in data ? String(data.prompt) : undefined, String(data['response']));
  }
  if (all.length === 0) {
    throw new ConfigError(source, [{ path: 'file', message: 'has no answers' }]);
  }
  return { byPrompt, all };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Answers of a data set: those to known prompts, and all of them. */
export interface Dataset {
  readonly byPrompt: ReadonlyMap<string, readonly string[]>;
  readonly all: readonly string[];
}

/** Where the text of answers comes from, instead of being made up. */
export type AnswerTexts = (asked: () => string, random: Random) => string | undefined;

/** Answers with what was asked last. */
export const ECHO: AnswerTexts = (asked) => asked();

/** An answer of the data set to the same prompt, or else any of its answers. */
export function textsOf({ byPrompt, all }: Dataset): AnswerTexts {
  return (asked, random) => {
    const texts = byPrompt.get(asked()) ?? all;
    return texts[Math.floor(random.next() * texts.length)];
  };
}
