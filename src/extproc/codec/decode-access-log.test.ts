import { describe, expect, it } from 'vitest';
import { accessLogBytes, LOG_FLAG } from '../../../test/support/grpc/access-log-bytes.ts';
import { cutAnswersIn } from './decode-access-log.ts';

const CUT = LOG_FLAG.upstreamConnectionTermination;

describe('an access log', () => {
  it('[V473] names the requests whose servers broke off their answers', () => {
    const message = accessLogBytes([
      ['a', [CUT]],
      ['b', []],
      ['c', [LOG_FLAG.upstreamRemoteReset]],
      ['d', [LOG_FLAG.upstreamProtocolError, 3]],
      ['e', [3, 17]],
      ['', [CUT]],
    ]);
    expect(cutAnswersIn(message)).toEqual(['a', 'c', 'd']);
    expect(cutAnswersIn(accessLogBytes([]))).toEqual([]);
  });

  it('[V431] names none that its client has left, whatever became of the connection to the server', () => {
    const { downstreamConnectionTermination, downstreamProtocolError, downstreamRemoteReset } =
      LOG_FLAG;
    for (const left of [
      downstreamConnectionTermination,
      downstreamProtocolError,
      downstreamRemoteReset,
    ]) {
      expect(cutAnswersIn(accessLogBytes([['a', [CUT, left]]]))).toEqual([]);
    }
  });

  it('[V474] that is cut short is a RangeError, or names nothing', () => {
    const whole = accessLogBytes([['a', [CUT]]]);
    for (let end = 0; end < whole.length; end++) {
      try {
        expect(cutAnswersIn(whole.subarray(0, end))).toEqual([]);
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
      }
    }
  });
});
