import { Readable } from 'node:stream';
import { request } from 'undici';
import { expect, it } from 'vitest';
import {
  type PickerStream,
  pickOf,
  type ScriptedPicker,
  startScriptedPicker,
} from '../../test/support/grpc/scripted-picker.ts';
import {
  type ScriptedServer,
  startScriptedServer,
  type Visit,
} from '../../test/support/sidecar/scripted-server.ts';
import { UnsteadyClock } from '../../test/support/unsteady-clock.ts';
import type { Millis, Random } from '../framework/runtime.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import { startGateway } from './start-gateway.ts';

/** Far more than all limits below, one after the other, and standstills: nothing ends it any more. */
const HUNG_MS: Millis = 120_000;
const CLIENTS = 12;
const REQUESTS_EACH = 25;
const BOUNDS = {
  uploadTimeoutMs: 400,
  clientIdleTimeoutMs: 150,
  pickerTimeoutMs: 150,
  connectTimeoutMs: 100,
  firstByteTimeoutMs: 200,
  idleTimeoutMs: 150,
};

/** Time that moves within calls and in each turn, with standstills of up to 5 s. */
class TurningClock extends UnsteadyClock {
  isCalm = false;
  readonly #random: Random;
  #isOver = false;

  constructor(random: Random) {
    super(random.fork('clock'));
    this.#random = random.fork('turns');
    this.#turn();
  }

  after(ms: Millis): Promise<void> {
    return new Promise((resolve) => void this.setTimer(ms, resolve));
  }

  end(): void {
    this.#isOver = true;
  }

  readonly #turn = (): void => {
    if (this.#isOver) return;
    if (!this.isCalm && this.#random.next() < 0.002) this.pass(5000 * this.#random.next());
    this.advanceBy(4 * this.#random.next());
    setImmediate(this.#turn);
  };
}

interface Parts {
  readonly clock: TurningClock;
  readonly random: Random;
  readonly picker: ScriptedPicker;
  readonly endpoint: ScriptedServer;
}

/** A picker that answers late, never, with a refusal, or ends its stream in the middle. */
function moodyPicker({ clock, random, picker, endpoint }: Parts, dead: string): void {
  picker.script((input, stream: PickerStream) => {
    const isOpen = (): boolean => !stream.destroyed && !stream.writableEnded && !stream.cancelled;
    const destination = random.next() < 0.3 ? `${dead},${endpoint.address}` : endpoint.address;
    const usual = (): void => {
      if (isOpen()) pickOf(clock.isCalm ? endpoint.address : destination)(input, stream);
    };
    const mood = clock.isCalm ? 0 : random.next();
    if (mood < 0.85) usual();
    else if (mood < 0.9) clock.setTimer(200 * random.next(), usual);
    else if (mood < 0.93) stream.end();
    else if (mood < 0.96) stream.destroy(Object.assign(new Error('it is gone'), { code: 14 }));
    else if (mood < 0.98 && isOpen()) {
      stream.write({ immediate_response: { status: { code: 429 }, body: Buffer.from('{}') } });
      stream.end();
    }
  });
}

/** A server that refuses, hangs, breaks off and pauses. */
async function moodyAnswer({ clock, random }: Parts, { response }: Visit): Promise<void> {
  const mood = clock.isCalm ? 1 : random.next();
  if (mood < 0.1) response.destroy();
  else if (mood >= 0.15 && mood < 0.25) response.writeHead(503).end('no');
  if (mood < 0.25) return;
  if (mood < 0.4) await clock.after(300 * random.next());
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let n = 0; n < 5; n++) {
    response.write('data: x\n\n'.repeat(100));
    if (clock.isCalm) continue;
    if (random.next() < 0.2) await clock.after(200 * random.next());
    if (random.next() < 0.03) response.destroy();
  }
  response.end('data: [DONE]\n\n');
}

async function* slowBody({ clock, random }: Parts): AsyncGenerator<Buffer> {
  for (let n = 0; n < 4; n++) {
    yield Buffer.from(`{"a":"${'x'.repeat(1000)}`);
    if (random.next() < 0.3) await clock.after(200 * random.next());
  }
}

/** How one request ended: its status, or that it was broken off; also after its headers. */
async function outcomeOf(parts: Parts, port: number): Promise<string> {
  const { clock, random } = parts;
  const abort = new AbortController();
  const startedAt = clock.at;
  const leaves = !clock.isCalm && random.next() < 0.15;
  const leaving = leaves && clock.setTimer(400 * random.next(), () => abort.abort());
  const isSlow = !clock.isCalm && random.next() < 0.5;
  const asked = request(`http://127.0.0.1:${port}/v1/completions`, {
    method: 'POST',
    body: isSlow ? Readable.from(slowBody(parts)) : '{"model":"m"}',
    signal: abort.signal,
  });
  const answered = asked.then(async ({ statusCode, body }) => {
    await body.dump({ limit: 1e6, signal: abort.signal });
    return String(statusCode);
  });
  const hung = clock.setTimer(HUNG_MS, () => abort.abort());
  const outcome = await answered.catch(() => 'broken off');
  hung.cancel();
  if (leaving !== false) leaving.cancel();
  return clock.at - startedAt < HUNG_MS ? outcome : 'hung';
}

it.each([1, 2, 3, 4, 5, 6])(
  '[V584] each request through the embedded gateway ends by its limits, and leaves no timer, in unsteady time (seed %i)',
  { timeout: 10 * 60_000 },
  async (seed) => {
    const random = seededRandom(seed);
    const clock = new TurningClock(random);
    const endpoint = await startScriptedServer();
    const dead = await startScriptedServer();
    await dead.stop();
    const picker = await startScriptedPicker(endpoint.address);
    const parts: Parts = { clock, random, picker, endpoint };
    moodyPicker(parts, dead.address);
    let isServing = true;
    const serve = async (): Promise<void> => {
      while (isServing) void moodyAnswer(parts, await endpoint.next());
    };
    void serve();
    const { port, stop } = await startGateway({
      host: '127.0.0.1',
      port: 0,
      extProcAddress: picker.address,
      extProcTls: false,
      clock,
      log: () => undefined,
      strain: { busyShare: () => 0, answerDelayMs: () => 0 },
      bounds: BOUNDS,
    });
    const outcomes = new Map<string, number>();
    const client = async (): Promise<void> => {
      for (let n = 0; n < REQUESTS_EACH; n++) {
        const outcome = await outcomeOf(parts, port);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    clock.isCalm = true;
    clock.pace = 'steady';
    const until = clock.at + HUNG_MS;
    while (clock.pending > 0 && clock.at < until) await new Promise(setImmediate);
    const left = clock.pending;
    const after = await outcomeOf(parts, port);
    await stop();
    clock.end();
    isServing = false;
    picker.stop();
    await endpoint.stop();
    expect([outcomes.get('hung') ?? 0, left, after, clock.pending]).toEqual([0, 0, '200', 0]);
    expect([...outcomes.keys()]).toEqual(expect.arrayContaining(['200', '429', '503']));
  },
);
