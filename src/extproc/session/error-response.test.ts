import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ERRORS, RoutingError, type RoutingErrorCode } from '../../framework/error.ts';
import { type ErrorForm, errorFormOf, errorResponse } from './error-response.ts';

const CODES = Object.keys(ERRORS) as RoutingErrorCode[];

const formOf = (path: string, contentType: string | undefined): ErrorForm =>
  errorFormOf({
    path,
    headers: new Map(contentType === undefined ? [] : [['content-type', contentType]]),
  });

function refusalOf(code: RoutingErrorCode, sentence: string, form: ErrorForm) {
  const action = errorResponse(new RoutingError(code, sentence), form);
  if (action.kind !== 'immediate-response') throw new Error('not an immediate response');
  return { ...action, headers: new Map(action.headers) };
}

describe('a refusal', () => {
  it.each(['application/grpc', 'application/grpc+proto', 'Application/GRPC', 'application/grpc;x'])(
    '[D30] answers %s as gRPC',
    (contentType) => expect(formOf('/v1/chat/completions', contentType)).toBe('grpc'),
  );

  it.each([undefined, '', 'application/json', 'application/grpc-web', 'application/grpcx'])(
    '[D30] answers `%s` as HTTP',
    (contentType) => expect(formOf('/v1/chat/completions', contentType)).toBe('openai'),
  );

  it.each(CODES)('[D30] of code %s has one status in HTTP and one in gRPC', (code) => {
    const http = refusalOf(code, 'why', 'openai');
    expect(http.status).toBe(ERRORS[code].status);
    expect(http.grpcStatus).toBeUndefined();
    const { status, type } = ERRORS[code];
    const error = { message: 'why', type, param: null, code: status, reason: code };
    expect(JSON.parse(http.body)).toEqual({ error });
    const grpc = refusalOf(code, 'why', 'grpc');
    expect([grpc.status, grpc.body, grpc.grpcStatus]).toEqual([200, '', ERRORS[code].grpcStatus]);
    expect(grpc.headers.get('grpc-status')).toBe(String(ERRORS[code].grpcStatus));
    expect(grpc.headers.get('grpc-message')).toBe('why');
    expect(grpc.headers.get('content-type')).toBe('application/grpc');
  });

  it.each([
    ['/v1/messages', 'anthropic'],
    ['/v1/messages?beta=true', 'anthropic'],
    ['/some/prefix/v1/messages/count_tokens', 'anthropic'],
    ['/v1/chat/completions', 'openai'],
    ['/v1/models', 'openai'],
    ['', 'openai'],
  ])('[G163] is in the shape of the API of %s', (path, form) => {
    expect(formOf(path, 'application/json')).toBe(form);
  });

  it.each([
    ['invalid-request', 400, 'invalid_request_error'],
    ['unknown-model', 404, 'not_found_error'],
    ['not-cached', 412, 'invalid_request_error'],
    ['body-too-large', 413, 'request_too_large'],
    ['saturated', 429, 'rate_limit_error'],
    ['internal', 500, 'api_error'],
    ['no-endpoints', 503, 'overloaded_error'],
  ] as const)(
    '[G163] of code %s has %i and the type %s in Anthropic’s API',
    (code, status, type) => {
      const refusal = refusalOf(code, 'why', 'anthropic');
      expect([refusal.status, refusal.headers.get('content-type')]).toEqual([
        status,
        'application/json',
      ]);
      const error = { type, message: 'why', reason: code };
      expect(JSON.parse(refusal.body)).toEqual({ type: 'error', error });
    },
  );

  it('[D30] says in gRPC any sentence in visible ASCII', () => {
    const sentences = fc.string({ unit: 'grapheme-composite', maxLength: 50 });
    fc.assert(
      fc.property(sentences, (sentence) => {
        const said = refusalOf('internal', sentence, 'grpc').headers.get('grpc-message') ?? '';
        expect(said).toMatch(/^[\x20-\x7e]*$/);
        expect(decodeURIComponent(said)).toBe(sentence);
      }),
      { seed: 30 },
    );
  });

  it('[D31] [G171] names why in x-llm-d-request-dropped-reason by the values of the reference', () => {
    const reasons = CODES.map((code) => [code, ERRORS[code].droppedReason] as const);
    expect(Object.fromEntries(reasons.filter(([, reason]) => reason !== undefined))).toEqual({
      internal: 'rejected-internal',
      saturated: 'rejected-saturated',
      'no-endpoints': 'rejected-no-endpoints',
      'queue-timeout': 'rejected-ttl-expired',
      'client-gone': 'rejected-context-cancelled',
      'shutting-down': 'rejected-shutting-down',
      evicted: 'evicted',
      'memory-full': 'rejected-memory-full',
      'too-many-streams': 'rejected-too-many-streams',
    });
  });
});
