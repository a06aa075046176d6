import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PromptBlocks } from '../../framework/request.ts';
import type { BodyReader } from '../body/body-reader.ts';
import { createOpenBody } from '../parsers/open-body.ts';
import { AnswerText } from './answer-text.ts';

const openBody = createOpenBody({ bodyBytesMax: 1_000_000, hashSeed: 7 });
const QUESTION = { role: 'user', content: 'What is behind this door? '.repeat(20) };
const NEXT = { role: 'user', content: 'And behind the other?' };

interface Message {
  readonly role: string;
  readonly content: string | readonly object[];
}

function bodyOf(messages: readonly Message[], extra: object = {}): BodyReader {
  const headers = new Map<string, string>();
  const reader = openBody({ id: 'r', path: '/v1/chat/completions', headers });
  reader.push(Buffer.from(JSON.stringify({ model: 'm', ...extra, messages })));
  return reader;
}

const promptOf = (messages: readonly Message[], extra?: object): PromptBlocks =>
  bodyOf(messages, extra).end().prompt;

/** Streams an answer as servers do: the role, a chunk for each piece, the usage. */
function events(pieces: readonly string[], first: object = { role: 'assistant', content: '' }) {
  const event = (delta: object): string =>
    `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta, logprobs: null }] })}\n\n`;
  const deltas = [first, ...pieces.map((content) => ({ content }))].map(event);
  return `${deltas.join('')}data: {"choices":[],"usage":{"prompt_tokens":9}}\n\ndata: [DONE]\n\n`;
}

const whole = (message: object): string =>
  JSON.stringify({ id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }], usage: {} });

/** The blocks of a body and its answer, with the answer cut at these places. */
function learned(
  reader: BodyReader,
  answer: string,
  { eventStream = true, cuts = [] as readonly number[] } = {},
): PromptBlocks | undefined {
  reader.end();
  const blocks = reader.answerBlocks();
  if (blocks === undefined) return undefined;
  const text = new AnswerText(blocks, { eventStream });
  const bytes = Buffer.from(answer);
  const at = cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b);
  for (const [index, from] of [0, ...at].entries()) text.push(bytes.subarray(from, at[index]));
  return text.end();
}

/** Whether all blocks of `conversation` are the leading blocks of `next`. */
function begins(next: PromptBlocks, conversation: PromptBlocks | undefined): boolean {
  if (conversation === undefined || conversation.count > next.count) return false;
  const { words } = conversation;
  return words.every((word, index) => next.words[index] === word);
}

const LONG = 'A goat. '.repeat(100);
const ASKED = [QUESTION];
const after = (content: Message['content']): readonly Message[] => [
  ...ASKED,
  { role: 'assistant', content },
  NEXT,
];

describe('the text of an answer', () => {
  it('[P35] makes the blocks that the next turn begins with, whatever it is and however it is cut', () => {
    const texts = fc.array(fc.string({ unit: 'binary', maxLength: 400 }), { maxLength: 8 });
    fc.assert(
      fc.property(
        texts,
        fc.array(fc.nat(), { maxLength: 12 }),
        fc.boolean(),
        (pieces, cuts, sse) => {
          const said = pieces.join('');
          fc.pre(!said.startsWith('<think>'));
          const answer = sse ? events(pieces) : whole({ role: 'assistant', content: said });
          const found = learned(bodyOf(ASKED), answer, { eventStream: sse, cuts });
          const next = promptOf(after(said));
          const prompt = promptOf(ASKED);
          if (found === undefined) {
            expect(said.length).toBeLessThan(256);
            return;
          }
          expect(begins(next, found)).toBe(true);
          expect(found.count).toBeGreaterThan(prompt.count);
          // Only the prompt's blocks are left.
          expect(next.count - found.count).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: 2000, seed: 20_261 },
    );
  });

  it('[P35] makes as many blocks as it fills, wherever in a block it ends', () => {
    for (let length = 1; length <= 600; length++) {
      const said = 'x'.repeat(length);
      const found = learned(bodyOf(ASKED), events([said]));
      // With roles and separators, as in the next body.
      const known = Math.floor(
        (`user\n${QUESTION.content}\nassistant\n`.length + length + 1) / 256,
      );
      expect(found?.count ?? promptOf(ASKED).count).toBe(known);
      if (found !== undefined) expect(begins(promptOf(after(said)), found)).toBe(true);
    }
  });

  it('[P35] is the same behind tools, a salt, and content given in parts', () => {
    const extra = { tools: [{ type: 'function', function: { name: 'open' } }], cache_salt: 's' };
    const found = learned(bodyOf(ASKED, extra), events([LONG]));
    expect(begins(promptOf(after([{ type: 'text', text: LONG }]), extra), found)).toBe(true);
    expect(begins(promptOf(after(LONG)), found)).toBe(false);
  });

  it('[P35] is found where spaces stand behind the key, and not where an answer quotes one', () => {
    const quoting = `{"content": "not this"} ${LONG}`;
    expect(begins(promptOf(after(quoting)), learned(bodyOf(ASKED), events([quoting])))).toBe(true);
    const spaced = whole({ role: 'assistant', content: LONG }).replaceAll('":', '": ');
    const found = learned(bodyOf(ASKED), spaced, { eventStream: false });
    expect(begins(promptOf(after(LONG)), found)).toBe(true);
  });

  it.each([
    [
      '/v1/responses',
      'input',
      { type: 'response.output_text.delta', delta: LONG, sequence_number: 4 },
      {
        output: [
          { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: LONG }] },
        ],
      },
    ],
    [
      '/v1/messages',
      'messages',
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: LONG } },
      { type: 'message', role: 'assistant', content: [{ type: 'text', text: LONG }] },
    ],
  ])('[P35] is found in the answers of %s, whole and as events', (path, field, event, answer) => {
    const open = (turns: readonly Message[]): BodyReader => {
      const reader = openBody({ id: 'r', path, headers: new Map() });
      reader.push(Buffer.from(JSON.stringify({ model: 'm', [field]: turns })));
      return reader;
    };
    const next = open(after(LONG)).end().prompt;
    const streamed = `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
    const cuts = [7, 60, 100, 300];
    expect(begins(next, learned(open(ASKED), streamed, { cuts }))).toBe(true);
    const options = { eventStream: false, cuts };
    expect(begins(next, learned(open(ASKED), JSON.stringify(answer), options))).toBe(true);
    const thought =
      'event: response.reasoning_text.delta\ndata: {"type":"response.reasoning_text.delta","delta":"Hm."}\n\n';
    if (field === 'input') expect(learned(open(ASKED), thought + streamed)).toBeUndefined();
  });

  it('[P35] teaches nothing of an answer that shows thoughts: templates leave them out', () => {
    for (const name of ['reasoning_content', 'reasoning']) {
      const first = { role: 'assistant', [name]: 'Let me think.' };
      expect(learned(bodyOf(ASKED), events([LONG], first))).toBeUndefined();
      const message = { role: 'assistant', content: LONG, [name]: 'I thought.' };
      expect(learned(bodyOf(ASKED), whole(message), { eventStream: false })).toBeUndefined();
      const silent = events([LONG], { role: 'assistant', content: '', [name]: null });
      expect(learned(bodyOf(ASKED), silent)).toBeDefined();
    }
    expect(learned(bodyOf(ASKED), events(['<thi', 'nk>', LONG]))).toBeUndefined();
    expect(learned(bodyOf(ASKED), events(['<thin', LONG]))).toBeDefined();
  });

  it('[P35] teaches nothing of several answers, of one that ends early, or of one without text', () => {
    expect(learned(bodyOf(ASKED, { n: 2 }), events([LONG]))).toBeUndefined();
    const continued = bodyOf(ASKED, { continue_final_message: true });
    expect(learned(continued, events([LONG]))).toBeUndefined();
    expect(learned(bodyOf(ASKED), events([LONG]).slice(0, 600))).toBeUndefined();
    const call = { role: 'assistant', content: null, tool_calls: [{ function: { name: 'open' } }] };
    expect(learned(bodyOf(ASKED), whole(call), { eventStream: false })).toBeUndefined();
  });

  it('[P35] holds no more of an endless answer than 4,096 blocks', () => {
    const reader = bodyOf(ASKED);
    const { count } = promptOf(ASKED);
    const found = learned(reader, events(Array.from({ length: 300 }, () => 'x'.repeat(8192))));
    expect((found?.count ?? 0) - count).toBeLessThanOrEqual(4097);
    expect((found?.count ?? 0) - count).toBeGreaterThan(4000);
  });
});
