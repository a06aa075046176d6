import { describe, expect, it } from 'vitest';
import { UnsteadyClock } from '../../../test/support/unsteady-clock.ts';
import type { Clock } from '../../framework/runtime.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { OpenStreams } from './open-streams.ts';
import type { StreamAccount, StreamPhase } from './stream-account.ts';
import { UploadWatch } from './upload-watch.ts';

const LIMITS = { uploadIdleTimeoutMs: 30_000, uploadTimeoutMs: 300_000 };

function setUp(limits = LIMITS) {
  const clock = new SimulatedClock();
  return { clock, ...watched(clock, limits) };
}

function watched(clock: Clock, limits = LIMITS) {
  const streams = new OpenStreams({ heldBytesMax: 1e9, streamsMax: 10 });
  const watch = new UploadWatch(streams, limits, clock);
  const log: string[] = [];
  const open = (phase: StreamPhase): StreamAccount => {
    const owner = {
      phase,
      refuse: ({ message }: Error) => {
        owner.phase = 'refused';
        log.push(message);
      },
      reset: () => void log.push('reset'),
      answerCut: () => undefined,
    };
    return streams.open(owner, clock.now());
  };
  return { watch, log, open };
}

describe('the watch over uploads', () => {
  it('[V14] refuses an upload of which nothing comes', () => {
    const { clock, log, open } = setUp();
    const upload = open('uploading');
    clock.advanceTo(20_000);
    upload.received(1);
    clock.advanceTo(50_000);
    expect(log).toEqual([]);
    clock.advanceTo(51_000);
    expect(log).toEqual([
      '[upload-timeout] the request body is too slow: no byte of it has come for 30000 ms',
    ]);
  });

  it('[V14] refuses an upload that goes on and does not end', () => {
    const { clock, log, open } = setUp();
    const upload = open('uploading');
    for (let second = 1; second < 300; second++) {
      clock.advanceTo(second * 1000);
      upload.received(1);
    }
    expect(log).toEqual([]);
    clock.advanceTo(300_000);
    expect(log).toEqual([
      '[upload-timeout] the request body is too slow: it has not ended after 300000 ms',
    ]);
  });

  it('[V544] does not count the time in which the process stood still', () => {
    const clock = new UnsteadyClock(seededRandom(1));
    clock.pace = 'still';
    const { log, open } = watched(clock);
    const uploads = [open('uploading'), open('uploading'), open('gathering')];
    clock.advanceBy(20_500);
    clock.pass(400_000);
    clock.advanceBy(0);
    uploads[0]?.received(1);
    clock.advanceBy(8000);
    expect(log).toEqual([]);
    clock.advanceBy(2000);
    expect(log).toEqual([expect.stringContaining('no byte of it has come for 30000 ms')]);
    clock.advanceBy(280_000);
    const refused = log.filter((each) => each !== 'reset');
    expect(refused).toHaveLength(3);
    expect(refused.at(-1)).toContain('it has not ended after 300000 ms');
  });

  it('[V14] lets a proxy gather a body without a sign of it, up to the limit of the whole', () => {
    const { clock, log, open } = setUp();
    open('gathering');
    clock.advanceTo(299_000);
    expect(log).toEqual([]);
    clock.advanceTo(300_000);
    expect(log).toHaveLength(1);
  });

  it('[V14] leaves requests alone that have been picked for', () => {
    const { clock, log, open } = setUp();
    open('picked');
    clock.advanceTo(86_400_000);
    expect(log).toEqual([]);
  });

  it('[V14] resets a stream whose peer does not close it after a refusal', () => {
    const { clock, log, open } = setUp();
    open('refused');
    clock.advanceTo(10_000);
    expect(log).toEqual([]);
    clock.advanceTo(11_000);
    expect(log).toEqual(['reset']);
  });

  it('waits for ever where a limit is 0, and looks no more once it is stopped', () => {
    const { clock, log, open } = setUp({ uploadIdleTimeoutMs: 0, uploadTimeoutMs: 0 });
    open('uploading');
    clock.advanceTo(1e9);
    expect(log).toEqual([]);
    const other = setUp();
    other.open('uploading');
    other.watch.stop();
    other.clock.advanceTo(1e6);
    expect(other.log).toEqual([]);
  });
});
