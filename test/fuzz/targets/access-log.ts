import { cutAnswersIn } from '../../../src/extproc/codec/decode-access-log.ts';
import { accessLogBytes, LOG_FLAG } from '../../support/grpc/access-log-bytes.ts';
import { expected, type FuzzTarget, promise } from '../target.ts';

const { upstreamRemoteReset, downstreamRemoteReset } = LOG_FLAG;

/** Entries of Envoy's access log: whatever the bytes are, they are ids or a RangeError. */
export const accessLog: FuzzTarget = {
  name: 'access-log',
  seeds: [
    accessLogBytes([['one', [upstreamRemoteReset]]]),
    accessLogBytes([
      ['one', [upstreamRemoteReset, downstreamRemoteReset]],
      ['two', []],
      ['', [upstreamRemoteReset]],
    ]),
  ],
  words: ['\x82\x01\x02\x28\x01', '\x4a\x03one', '\x12\x00', '\x0a\x00', '\xff\xff\xff\xff\x0f'],
  run: (input) => {
    try {
      const ids = cutAnswersIn(Buffer.from(input));
      promise(!ids.includes(''), () => 'an entry without an id is one of a request');
      promise(3 * ids.length <= input.length, () => `${ids.length} ids`);
      return `${Math.min(4, ids.length)} cut`;
    } catch (error) {
      return expected(error, RangeError);
    }
  },
};
