import { describe, expect, it } from 'vitest';
import type { HttpResponse, HttpTls } from '../../framework/runtime.ts';
import type { NoTokensReason, TokenQuestion } from '../../openai/read-prompt.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { RemoteTokenizer, type RemoteTokenizerOptions } from './remote-tokenizer.ts';

const prompt = (text: string): TokenQuestion => ({
  form: 'completion',
  fields: { prompt: text },
});

function json(value: unknown, status = 200): HttpResponse {
  return { status, body: new TextEncoder().encode(JSON.stringify(value)) };
}

function setUp({
  cacheBytesMax = 10_000,
  url = new URL('http://a:1/tokenize'),
  address = () => url,
  tls,
}: {
  cacheBytesMax?: number;
  url?: URL;
  address?: RemoteTokenizerOptions['address'];
  tls?: HttpTls;
} = {}) {
  const asked: (HttpTls | undefined)[] = [];
  const clock = new SimulatedClock();
  const questions: {
    host: string;
    body: string;
    bodyBytesMax: number;
    answer: (response: HttpResponse) => void;
    fail: () => void;
  }[] = [];
  const waits: number[] = [];
  const failures: string[] = [];
  const tokenizer = new RemoteTokenizer({
    onWaited: (waitedMs) => void waits.push(waitedMs),
    onFailed: ({ host }, reason) => void failures.push(`${host}: ${reason}`),
    runtime: {
      clock,
      random: seededRandom(1),
      network: {
        get: () => Promise.reject(new Error('not asked')),
        post: ({ host }, body, options) =>
          new Promise((answer, reject) => {
            asked.push(options.tls);
            const fail = (): void => reject(new Error('refused'));
            const { bodyBytesMax } = options;
            const text = new TextDecoder().decode(body);
            questions.push({ host, body: text, bodyBytesMax, answer, fail });
          }),
      },
    },
    address,
    tls: () => tls,
    deadlineMs: () => 100,
    cacheBytesMax,
  });
  const answers: (Uint32Array | NoTokensReason)[] = [];
  const ask = (text: string) => tokenizer.tokens(prompt(text), (tokens) => answers.push(tokens));
  return { clock, questions, tokenizer, answers, ask, asked, waits, failures };
}

describe('a remote tokenizer', () => {
  it('[E9] [D380] asks once for equal prompts, answers all, and remembers', async () => {
    const { ask, questions, answers, clock, tokenizer, waits } = setUp();
    expect([ask('a'), ask('a')]).toEqual([undefined, undefined]);
    expect(questions.map(({ body }) => body)).toEqual(['{"prompt":"a"}']);
    clock.advanceTo(7);
    questions[0]?.answer(json({ count: 2, tokens: [5, 6] }));
    await clock.run();
    expect(answers).toEqual([Uint32Array.of(5, 6), Uint32Array.of(5, 6)]);
    expect(ask('a')).toEqual(Uint32Array.of(5, 6));
    expect(waits).toEqual([7, 7, 0]);
    expect(tokenizer.stats).toMatchObject({ hits: 1, answers: 1 });
  });

  it('[E9] lets a request go at its deadline, and keeps a late answer for the next', async () => {
    const { ask, questions, answers, clock } = setUp();
    ask('a');
    clock.advanceTo(99);
    expect(answers).toEqual([]);
    clock.advanceTo(100);
    expect(answers).toEqual(['deadline']);
    questions[0]?.answer(json({ tokens: [5] }));
    await clock.run();
    expect(answers).toHaveLength(1);
    expect(ask('a')).toEqual(Uint32Array.of(5));
  });

  it('reads the answers of the render API too', async () => {
    const { ask, questions, answers, clock } = setUp();
    ask('a');
    ask('b');
    questions[0]?.answer(json([{ token_ids: [7], features: null }]));
    questions[1]?.answer(json({ token_ids: [8], model: 'm' }));
    await clock.run();
    expect(answers).toEqual([Uint32Array.of(7), Uint32Array.of(8)]);
  });

  it.each([
    ['a refusal', (question: { answer(r: HttpResponse): void }) => question.answer(json({}, 404))],
    ['no tokens', (question: { answer(r: HttpResponse): void }) => question.answer(json({ a: 1 }))],
    ['a broken line', (question: { fail(): void }) => question.fail()],
  ])('[E9] says that it failed after %s, and asks again next time', async (_what, end) => {
    const { ask, questions, answers, clock } = setUp();
    ask('a');
    end(questions[0] ?? { answer: () => undefined, fail: () => undefined });
    await clock.run();
    expect(answers).toEqual(['failed']);
    ask('a');
    expect(questions).toHaveLength(2);
  });

  it.each([
    ['millions of brackets', `{"tokens":[${'[],'.repeat(100_000)}0]}`],
    ['nothing but depth', '['.repeat(300_000)],
    ['more tokens than the prompt has bytes', `{"tokens":[${'1,'.repeat(20_000)}0]}`],
    ['what is no token id', '{"tokens":[1,-2]}'],
    ['a fraction', '{"tokens":[1.5]}'],
    ['an id past 32 bits', '{"tokens":[4294967296]}'],
    ['null', 'null'],
    ['a list of null', '[null]'],
  ])('[V264] has failed where it answers %s', async (_what, body) => {
    const { ask, questions, answers, clock } = setUp();
    ask('a');
    questions[0]?.answer({ status: 200, body: new TextEncoder().encode(body) });
    await clock.run();
    expect(answers).toEqual(['failed']);
  });

  it('[V264] may answer as many bytes as the prompt can need', () => {
    const { ask, questions } = setUp();
    ask('a');
    ask('x'.repeat(400_000));
    const [short = 0, long = 0] = questions.map(({ bodyBytesMax }) => bodyBytesMax);
    expect(short).toBeLessThan(300_000);
    // As many ids of six digits, each with a comma and a space.
    expect(long).toBeGreaterThan(8 * 400_000);
    expect(long).toBeLessThan(8_000_000);
  });

  it('[V265] that never answers leaves the others to be asked', async () => {
    const hosts = ['silent:1', 'good:1', 'better:1'];
    let turn = 0;
    const { ask, questions, answers, clock } = setUp({
      address: (_form, shouldBeAsked) => {
        turn += 1;
        const inTurn = hosts.map((_, at) => hosts[(turn + at) % 3] ?? '');
        return new URL(`http://${inTurn.find(shouldBeAsked) ?? inTurn[0]}/tokenize`);
      },
    });
    for (let n = 0; n < 1000; n++) {
      ask(`${n}`);
      const question = questions.at(-1);
      if (question?.host !== 'silent:1') question?.answer(json({ tokens: [n] }));
      await clock.run(10 * n);
    }
    const silent = questions.filter(({ host }) => host === 'silent:1').length;
    expect(silent).toBeLessThan(64);
    expect(answers.filter((answer) => typeof answer !== 'string').length).toBeGreaterThan(930);
    expect(answers).not.toContain('busy');
  });

  it('[E9] has no more than 64 questions under way', () => {
    const { ask, questions } = setUp();
    const answers = Array.from({ length: 65 }, (_, at) => ask(`${at}`));
    expect(answers.slice(0, 64).every((answer) => answer === undefined)).toBe(true);
    expect(answers[64]).toBe('busy');
    expect(questions).toHaveLength(64);
  });

  it('[V52] keeps no more than 32 Mi characters of prompts under way', () => {
    const { ask, questions } = setUp();
    const long = 'x'.repeat(15 * 1024 * 1024);
    expect([ask(`1${long}`), ask(`2${long}`), ask(`3${long}`)]).toEqual([
      undefined,
      undefined,
      'busy',
    ]);
    expect(questions).toHaveLength(2);
  });

  it('forgets the answers asked for least recently when there is no more room', async () => {
    const { ask, questions, clock, tokenizer } = setUp({ cacheBytesMax: 1000 });
    for (let at = 0; at < 30; at++) {
      ask(`${at}`);
      questions[at]?.answer(json({ tokens: [1, 2, 3, 4, 5, 6, 7, 8, 9] }));
      await clock.run();
      expect(ask('0')).toEqual(Uint32Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9));
    }
    expect(tokenizer.cacheBytes).toBeLessThanOrEqual(1000);
    expect(tokenizer.cacheBytes).toBeGreaterThan(800);
    expect(ask('1')).toBeUndefined();
  });

  it('[V29] asks over HTTPS as it is configured', () => {
    const tls = { caPath: '/ca.pem' };
    const { ask, asked } = setUp({ url: new URL('https://a:1/tokenize'), tls });
    ask('a');
    expect(asked).toEqual([tls]);
  });

  it('[V462] says why it has no tokens, but not where the prompt is refused', async () => {
    const { ask, questions, clock, failures } = setUp();
    for (const text of ['a', 'b', 'c', 'd', 'e']) ask(text);
    questions[0]?.fail();
    questions[1]?.answer(json({}, 404));
    questions[2]?.answer(json({ message: 'too long' }, 400));
    questions[3]?.answer(json({ tokens: ['x'] }));
    await clock.run();
    clock.advanceTo(100);
    expect(failures).toEqual([
      'a:1: refused',
      'a:1: it answered with status 404',
      'a:1: its answer is no list of the tokens of that prompt',
      'a:1: it did not answer within 100 ms',
    ]);
  });
});
