import { describe, expect, it } from 'vitest';
import {
  EARLY,
  mode,
  RESPONSE_TRAILERS,
  requestBody,
  requestHeaders,
  requestPart,
  responseEnd,
  responseHeaders,
  responsePart,
  setUp,
  textOf,
} from '../../../test/support/session/session-bed.ts';
import { createOpenBody } from '../../openai/parsers/open-body.ts';
import { BODY_MODE } from '../codec/stream-event.ts';
import { type SessionOptions } from './session.ts';

describe('a request that goes on under another model’s name', () => {
  const chat = (model: string, pad = ''): string =>
    `{"z":"${pad}", "model" : "${model}","messages":[{"role":"user","content":"hi"}]}`;
  const served = (requested: string): SessionOptions['openBody'] =>
    createOpenBody({
      bodyBytesMax: 10_000_000,
      hashSeed: 1,
      rewriteOf: (model) => (model === requested ? { rule: 'r', model: 'served-7b' } : undefined),
    });
  const lengths = { 'content-length': String(chat('chat').length), 'accept-encoding': 'gzip' };

  it('[P32] sends the body on under another model’s name, each chunk as it was otherwise', () => {
    const whole = setUp({ openBody: served('chat') });
    whole.send(
      requestHeaders({ pairs: lengths } as never),
      requestPart(chat('chat').slice(0, 20)),
      requestBody(chat('chat').slice(20)),
    );
    expect(textOf(whole.actions, 'echo-request-body')).toBe(chat('served-7b'));
    expect(whole.actions[0]).toMatchObject({
      pick: {
        setHeaders: [['content-length', String(chat('served-7b').length)]],
        removeHeaders: ['accept-encoding'],
      },
    });
    expect(whole.routed[0]?.request).toMatchObject({
      model: 'served-7b',
      rewrite: { requestedModel: 'chat', rule: 'r' },
    });
  });

  it.each([
    ['BUFFERED', mode(BODY_MODE.buffered)],
    ['STREAMED', EARLY],
  ])('[P32] does so in mode %s', (_name, protocol) => {
    const { send, actions } = setUp({ openBody: served('chat') });
    send(requestHeaders({ ...protocol, pairs: lengths } as never), requestBody(chat('chat')));
    const bodies = actions.flatMap((action) =>
      action.kind === 'answer-request-body' ? [Buffer.concat(action.body ?? []).toString()] : [],
    );
    expect(bodies).toEqual([chat('served-7b')]);
    const picks = actions.flatMap((action) =>
      'pick' in action && action.pick !== undefined ? [action.pick] : [],
    );
    expect(picks).toMatchObject([
      { setHeaders: [['content-length', String(chat('served-7b').length)]] },
    ]);
  });

  it('[P32] leaves a request for another model as it is', () => {
    const { send, actions } = setUp({ openBody: served('other') });
    send(requestHeaders({ pairs: lengths } as never), requestBody(chat('chat')));
    expect(textOf(actions, 'echo-request-body')).toBe(chat('chat'));
    expect(actions[0]).toMatchObject({ pick: { removeHeaders: [] } });
  });

  it('[P33] answers under the name that was asked for, also when it is cut, and holds back nothing else', () => {
    const { send, actions, ended } = setUp({ openBody: served('chat') });
    send(requestHeaders(), requestBody(chat('chat')), responseHeaders());
    expect(actions.at(-1)).toMatchObject({ removeHeaders: ['content-length'] });
    send(responsePart('{"id":1,"model":"serv'));
    expect(textOf(actions, 'echo-response-body')).toBe('{"id":1,"model":');
    send(responsePart('ed-7b","text":"served-7b"'));
    expect(textOf(actions, 'echo-response-body')).toBe('{"id":1,"model":"chat","text":"served-7b"');
    send(responseEnd('}'));
    expect(textOf(actions, 'echo-response-body')).toBe(
      '{"id":1,"model":"chat","text":"served-7b"}',
    );
    expect(actions.at(-1)).toMatchObject({ endOfStream: true });
    expect(ended).toHaveLength(1);
  });

  it('[P33] gives back what it held when trailers come instead of the rest', () => {
    const { send, actions } = setUp({ openBody: served('chat') });
    send(requestHeaders(), requestBody(chat('chat')), responseHeaders());
    send(responsePart('{"model":"serv'), RESPONSE_TRAILERS);
    expect(textOf(actions, 'echo-response-body')).toBe('{"model":"serv');
  });

  it('[P33] replaces chunks that it need not send back', () => {
    const { send, actions } = setUp({ openBody: served('chat') });
    send(
      requestHeaders(mode(BODY_MODE.fullDuplex, BODY_MODE.streamed)),
      requestBody(chat('chat')),
      responseHeaders(),
      responsePart('{"model":"serv'),
      responseEnd('ed-7b"}'),
    );
    const bodies = actions.flatMap((action) =>
      action.kind === 'answer-response-body' ? [Buffer.concat(action.body ?? []).toString()] : [],
    );
    expect(bodies).toEqual(['{"model":', '"chat"}']);
  });

  it('[P33] sees the end of a renamed answer even where the response side is given up', () => {
    const options = { openBody: served('chat'), halfCloseAfterPick: true };
    const renamed = setUp(options);
    renamed.send(requestHeaders(), requestBody(chat('chat')));
    expect(renamed.kinds()).not.toContain('half-close');
    const plain = setUp(options);
    plain.send(requestHeaders(), requestBody(chat('other')));
    expect(plain.kinds().at(-1)).toBe('half-close');
  });

  it('[P34] refuses a name that comes after the pick and should have been another', () => {
    const late = chat('chat', 'x'.repeat(2000));
    for (const [requested, refused] of [
      ['chat', true],
      ['other', false],
    ] as const) {
      const { send, kinds, actions } = setUp({ openBody: served(requested) });
      send(requestHeaders(EARLY), requestPart(late.slice(0, 1500)));
      expect(kinds()).toEqual(['answer-request-headers', 'answer-request-body']);
      send(requestBody(late.slice(1500)));
      const refusal = { kind: 'immediate-response', status: 400 };
      if (refused) expect(actions.at(-1)).toMatchObject(refusal);
      else expect(actions.at(-1)).not.toMatchObject(refusal);
    }
  });

  it('[P34] refuses a name that is seen only after its headers have left', () => {
    for (const [requested, kind] of [
      ['chat', 'immediate-response'],
      ['other', 'answer-request-body'],
    ] as const) {
      const { send, kinds } = setUp({ openBody: served(requested) });
      send(requestHeaders(mode(BODY_MODE.streamed)), requestBody(chat('chat')));
      expect(kinds()).toEqual(['answer-request-headers', kind]);
    }
  });
});
