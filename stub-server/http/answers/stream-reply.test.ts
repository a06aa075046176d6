import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { readCompletion } from '../requests/read-generation.ts';
import type { Answer } from './plan-answer.ts';
import { StreamReply } from './stream-reply.ts';

const TOKENS = 12;
const answer: Answer = {
  tokens: TOKENS,
  end: 'length',
  toolName: undefined,
  text: (index) => `${index} `,
};
const whole = Array.from({ length: TOKENS }, (_, index) => `${index} `).join('');

/** Texts of the chunks sent while `run` says what becomes of the tokens. */
function chunksOf(
  run: (stream: StreamReply, state: { lateMs: number; response: { behind: boolean } }) => void,
): readonly string[] {
  const sent: string[] = [];
  const state = { lateMs: 0, response: { behind: false } };
  const response = {
    writeHead: () => undefined,
    flushHeaders: () => undefined,
    write: (chunk: string) => sent.push(chunk),
    get writableNeedDrain() {
      return state.response.behind;
    },
  } as unknown as ServerResponse;
  const request = readCompletion({ model: 'm', prompt: 'x', stream: true });
  const envelope = { id: 'cmpl-1', created: 0, model: 'm' };
  const stream = new StreamReply(request, {
    response,
    envelope,
    answers: [answer],
    promptTokens: [1],
    lateMs: () => state.lateMs,
  });
  run(stream, state);
  return sent.map((chunk) => {
    const { choices } = JSON.parse(chunk.slice('data: '.length)) as { choices: { text: string }[] };
    return choices[0]?.text ?? '';
  });
}

function tellAll(stream: StreamReply, from = 1): void {
  for (let count = from; count <= TOKENS; count++) stream.token(0, count);
}

describe('a streamed reply', () => {
  it('sends each token by itself when all keep up', () => {
    expect(chunksOf((stream) => tellAll(stream))).toHaveLength(TOKENS);
  });

  it('puts more tokens in a chunk the later the engine is, loses none, and does not hold the first back', () => {
    const counts = [19, 20, 40, 60].map((lateMs) => {
      const chunks = chunksOf((stream, state) => {
        state.lateMs = lateMs;
        tellAll(stream);
      });
      expect(chunks[0]).toBe('0 ');
      expect(chunks.join('')).toBe(whole);
      return chunks.length;
    });
    expect(counts).toEqual([12, 7, 5, 4]);
  });

  it('waits for a client that does not read, and sends it all in the end', () => {
    const chunks = chunksOf((stream, state) => {
      stream.token(0, 1);
      state.response.behind = true;
      tellAll(stream, 2);
    });
    expect(chunks).toEqual(['0 ', whole.slice(2)]);
  });
});
