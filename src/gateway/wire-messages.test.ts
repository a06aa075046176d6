import { expect, it } from 'vitest';
import { TimeoutError } from '../runtime/clock/deadline.ts';
import { NoConnection } from '../runtime/network/client/connect-within.ts';
import { endpointFailure, pickerFailure, whyAnotherMayAnswer } from './wire-messages.ts';

it.each([
  [
    '14 UNAVAILABLE: No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:9002. Resolution note: ',
    'no connection to the endpoint picker (connect ECONNREFUSED 127.0.0.1:9002): does it run, and do gateway and picker both have --insecure, or neither?',
  ],
  [
    '14 UNAVAILABLE: No connection established. Last error: Error: 408D4A:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../deps/openssl/ssl.c:77:\n. Resolution note: ',
    'no connection to the endpoint picker: does it run, and do gateway and picker both have --insecure, or neither?',
  ],
  [
    '14 UNAVAILABLE: Channel closed before call started',
    'no connection to the endpoint picker: does it run, and do gateway and picker both have --insecure, or neither?',
  ],
  ['13 INTERNAL: a fault', 'the endpoint picker failed: 13 INTERNAL: a fault'],
])('[O239] says what may be wrong where the picker gives no answer: %s', (message, said) => {
  expect(pickerFailure(new Error(message))).toBe(said);
});

it('[Q290] distinguishes an endpoint that took no connection from one that got the request', () => {
  const [unreached, late] = [
    new NoConnection('no connection'),
    new TimeoutError('sent no headers'),
  ];
  expect([endpointFailure(unreached).status, endpointFailure(late).status]).toEqual([503, 504]);
  expect(whyAnotherMayAnswer(unreached)).toBe('no connection');
  expect(whyAnotherMayAnswer(late)).toBeUndefined();
});
