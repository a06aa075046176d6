import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ERRORS, RoutingError, type RoutingErrorCode } from '../../framework/error.ts';
import { isGrpcType, rejection } from './rejection.ts';

const CODES = Object.keys(ERRORS) as RoutingErrorCode[];

function refusalOf(code: RoutingErrorCode, sentence: string, isGrpc: boolean) {
  const action = rejection(new RoutingError(code, sentence), isGrpc);
  if (action.kind !== 'reject') throw new Error('not a rejection');
  return { ...action, headers: new Map(action.headers) };
}

describe('a refusal', () => {
  it.each(['application/grpc', 'application/grpc+proto', 'Application/GRPC', 'application/grpc;x'])(
    '[D30] answers %s as gRPC',
    (contentType) => expect(isGrpcType(contentType)).toBe(true),
  );

  it.each([undefined, '', 'application/json', 'application/grpc-web', 'application/grpcx'])(
    '[D30] answers %s as HTTP',
    (contentType) => expect(isGrpcType(contentType)).toBe(false),
  );

  it.each(CODES)('[D30] of code %s has one status in HTTP and one in gRPC', (code) => {
    const http = refusalOf(code, 'why', false);
    expect(http.status).toBe(ERRORS[code].status);
    expect(http.grpcStatus).toBeUndefined();
    expect(JSON.parse(http.body)).toMatchObject({ error: { code, message: 'why' } });
    const grpc = refusalOf(code, 'why', true);
    expect([grpc.status, grpc.body, grpc.grpcStatus]).toEqual([200, '', ERRORS[code].grpcStatus]);
    expect(grpc.headers.get('grpc-status')).toBe(String(ERRORS[code].grpcStatus));
    expect(grpc.headers.get('grpc-message')).toBe('why');
    expect(grpc.headers.get('content-type')).toBe('application/grpc');
  });

  it('[D30] says in gRPC any sentence in visible ASCII', () => {
    const sentences = fc.string({ unit: 'grapheme-composite', maxLength: 50 });
    fc.assert(
      fc.property(sentences, (sentence) => {
        const said = refusalOf('internal', sentence, true).headers.get('grpc-message') ?? '';
        expect(said).toMatch(/^[\x20-\x7e]*$/);
        expect(decodeURIComponent(said)).toBe(sentence);
      }),
      { seed: 30 },
    );
  });

  it('[D31] names why in x-llm-d-request-dropped-reason by the values of the reference', () => {
    const reasons = CODES.map((code) => [code, ERRORS[code].droppedReason] as const);
    expect(Object.fromEntries(reasons.filter(([, reason]) => reason !== undefined))).toEqual({
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
