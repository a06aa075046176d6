/** Answers by the counts that the reference picker's parsers find in them, as its tests have it. */
export interface AnswerCase {
  readonly what: string;
  readonly path: string;
  readonly answer: string;
  readonly counts: Counts;
  /** Why they are others here than in the reference. */
  readonly better?: string;
}

type Counts = readonly [prompt: number, completion: number, cached?: number] | undefined;
type Row = readonly [what: string, answer: string | object, counts: Counts, better?: string];

const cases = (path: string, rows: readonly Row[]): readonly AnswerCase[] =>
  rows.map(([what, answer, counts, better]) => ({
    what,
    path,
    answer: typeof answer === 'string' ? answer : JSON.stringify(answer),
    counts,
    ...(better !== undefined && { better }),
  }));

const event = (data: object | string, type?: string): string => {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return `${type === undefined ? '' : `event: ${type}\n`}data: ${text}\n\n`;
};
const DONE = event('[DONE]');
const LONG = 'x'.repeat(20_000);
const USAGE = { prompt_tokens: 7, completion_tokens: 10, total_tokens: 17 };
const whole = (usage: unknown): object => ({ object: 'chat.completion', choices: [], usage });
const delta = event({ choices: [{ delta: { content: 'abcdefgh' } }], usage: null });
const started = event(
  { type: 'message_start', message: { usage: { input_tokens: 25, cache_read_input_tokens: 8 } } },
  'message_start',
);
const ended = event({ type: 'message_delta', usage: { output_tokens: 15 } }, 'message_delta');
const completed = {
  type: 'response.completed',
  response: {
    usage: { input_tokens: 31, input_tokens_details: { cached_tokens: 16 }, output_tokens: 3 },
  },
};
const LATER = 'there only the counts of the last chunk that has some are found';

export const ANSWERS: readonly AnswerCase[] = [
  ...cases('/v1/chat/completions', [
    ['usage', whole(USAGE), [7, 10]],
    ['cached tokens', whole({ ...USAGE, prompt_tokens_details: { cached_tokens: 4 } }), [7, 10, 4]],
    ['none cached', whole({ ...USAGE, prompt_tokens_details: { cached_tokens: 0 } }), [7, 10, 0]],
    ['details null', whole({ ...USAGE, prompt_tokens_details: null }), [7, 10]],
    ['details by number', whole({ ...USAGE, prompt_tokens_details: 0 }), [7, 10]],
    ['counts by text', whole({ prompt_tokens: '1024', completion_tokens: '7' }), [1024, 7]],
    ['a fraction', whole({ prompt_tokens: 7, completion_tokens: 10.9 }), [7, 10]],
    ['names of both APIs', whole({ input_tokens: 5, completion_tokens: 6 }), [5, 6]],
    ['usage first', { usage: USAGE, choices: [LONG] }, [7, 10]],
    ['usage between', { choices: [LONG], usage: USAGE, prompt_logprobs: [LONG] }, [7, 10]],
    ['no usage', { choices: [] }, undefined],
    ['usage null', whole(null), undefined],
    ['usage by text', whole('oops'), undefined],
    ['text about usage', { choices: [{ text: '"usage":{"prompt_tokens":3}' }] }, undefined],
    ['no JSON', 'no healthy upstream', undefined],
    ['nothing', '', undefined],
    ['a stream', delta + event({ choices: [], usage: USAGE }) + DONE, [7, 10]],
    ['an end in the same chunk', `data: {"usage":${JSON.stringify(USAGE)}}\ndata: [DONE]`, [7, 10]],
    ['no end', delta + event({ usage: USAGE }), [7, 10]],
    ['no usage in a stream', delta + DONE, undefined],
    ['CRLF', (delta + event({ usage: USAGE }) + DONE).replaceAll('\n', '\r\n'), [7, 10]],
    ['comments and ids', `: ping\n\nid: 1\nretry: 5\n${event({ usage: USAGE })}${DONE}`, [7, 10]],
    [
      'no space',
      `data:${JSON.stringify({ usage: USAGE })}\n\n`,
      [7, 10],
      'there they are not found',
    ],
    ['much behind', event({ usage: USAGE }) + delta.repeat(300) + DONE, [7, 10]],
    [
      'counts in every event',
      [1, 3, 10].map((n) => event({ usage: { ...USAGE, completion_tokens: n } })).join('') + DONE,
      [7, 10],
      LATER,
    ],
  ]),
  ...cases('/v1/embeddings', [
    ['no answer to count', { data: [], usage: { prompt_tokens: 7, total_tokens: 7 } }, [7, 0]],
  ]),
  ...cases('/v1/responses', [
    ['whole', { object: 'response', ...completed.response }, [31, 3, 16]],
    ['a stream', event(completed, 'response.completed'), [31, 3, 16]],
    [
      'text behind',
      event({ ...completed, response: { ...completed.response, output: LONG } }),
      [31, 3, 16],
    ],
  ]),
  ...cases('/v1/messages', [
    ['whole', { usage: { input_tokens: 25, output_tokens: 15 } }, [25, 15]],
    ['a stream', started + ended, [25, 15, 8]],
    ['a long stream', started + event(LONG) + ended, [25, 15, 8]],
    ['its beginning', started, [25, 0, 8]],
    ['its end', ended, [0, 15]],
  ]),
  ...cases('/generate', [
    ['whole', { text: 'a', meta_info: { prompt_tokens: 10, completion_tokens: 5 } }, [10, 5]],
    [
      'cached tokens',
      { meta_info: { id: 'r', prompt_tokens: 8, completion_tokens: 3, cached_tokens: 2 } },
      [8, 3, 2],
    ],
    [
      'a stream',
      [2, 5].map((n) => event({ meta_info: { prompt_tokens: 10, completion_tokens: n } })).join(''),
      [10, 5],
    ],
  ]),
  ...cases('/v1/rerank', [['usage', whole(USAGE), [7, 10], 'there it is not read']]),
];
