import { expect, it } from 'vitest';
import {
  type PickerStream,
  pickOf,
  startScriptedPicker,
} from '../../test/support/grpc/scripted-picker.ts';
import { gatewayBefore } from '../../test/support/servers/gateway-before.ts';
import { startScriptedServer } from '../../test/support/sidecar/scripted-server.ts';
import { HttpStorm, STREAMED } from '../../test/support/storms/http-storm.ts';
import { seededRandom } from '../runtime/seeded-random.ts';

const BOUNDS = {
  uploadTimeoutMs: 400,
  clientIdleTimeoutMs: 150,
  pickerTimeoutMs: 150,
  connectTimeoutMs: 100,
  firstByteTimeoutMs: 200,
  idleTimeoutMs: 150,
};
const BODY = JSON.stringify({ model: 'm', prompt: 'x'.repeat(4000) });

/** A picker that answers late, never, with a refusal, or ends its stream in the middle. */
async function startMoodyPicker({ clock, random }: HttpStorm, good: string, dead: string) {
  const picker = await startScriptedPicker(good);
  picker.script((input, stream: PickerStream) => {
    const isOpen = (): boolean => !stream.destroyed && !stream.writableEnded && !stream.cancelled;
    const names = !clock.isCalm && random.next() < 0.3 ? `${dead},${good}` : good;
    const usual = (): void => {
      if (isOpen()) pickOf(names)(input, stream);
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
  return picker;
}

it.each([1, 2, 3, 4, 5, 6])(
  '[V584] each request through the embedded gateway ends by its limits, and leaves no timer, in unsteady time (seed %i)',
  { timeout: 10 * 60_000 },
  async (seed) => {
    const storm = new HttpStorm(seededRandom(seed));
    const { clock, outcomes } = storm;
    const endpoint = await startScriptedServer();
    const dead = await startScriptedServer();
    await dead.stop();
    const picker = await startMoodyPicker(storm, endpoint.address, dead.address);
    const serve = async (): Promise<void> => {
      for (;;) void storm.answer(await endpoint.next(), STREAMED);
    };
    void serve();
    const { port, stop } = await gatewayBefore(picker.port, {
      clock,
      strain: { busyShare: () => 0, answerDelayMs: () => 0 },
      bounds: BOUNDS,
    });
    const sent = { path: '/v1/completions', body: BODY, headers: {} };
    await storm.run(port, () => sent);
    const left = await storm.calm();
    const after = await storm.ask(port, sent);
    await stop();
    clock.end();
    picker.stop();
    await endpoint.stop();
    expect([outcomes.get('hung') ?? 0, left, after, clock.pending]).toEqual([
      0,
      'nothing',
      '200',
      0,
    ]);
    expect([...outcomes.keys()]).toEqual(expect.arrayContaining(['200', '429', '503']));
  },
);
