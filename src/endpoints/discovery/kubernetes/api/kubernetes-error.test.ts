import { describe, expect, it } from 'vitest';
import { type ApiRequest, explainApiError } from './kubernetes-error.ts';

const asked: ApiRequest = { verb: 'list', what: 'pods in namespace n', server: 'https://api:6443' };

describe('what is said when the API server does not do as asked', () => {
  it.each([
    [401, 'does not accept the picker’s credentials'],
    [403, 'not allowed to list pods in namespace n: give the picker’s service account a Role'],
    [404, 'does not know pods in namespace n: install the Gateway API inference extension’s CRDs'],
    [410, 'listed again'],
    [429, 'too busy to list pods in namespace n'],
    [500, 'the API server cannot list pods in namespace n (boom)'],
  ])('to status %i is one sentence with what to do', (code, remedy) => {
    const sentence = explainApiError(Object.assign(new Error('boom'), { code }), asked);
    expect(sentence).toContain(remedy);
    expect(sentence).not.toContain('\n');
  });

  it('asks for a ClusterRole where a Role cannot help', () => {
    const sentence = explainApiError({ statusCode: 403 }, { ...asked, clusterWide: true });
    expect(sentence).toContain('a ClusterRole and ClusterRoleBinding');
  });

  it('names the server that cannot be reached, and the cause that libraries hide', () => {
    const cause = { message: '', code: 'ECONNREFUSED' };
    const sentence = explainApiError(Object.assign(new Error('fetch failed'), { cause }), asked);
    expect(sentence).toContain('https://api:6443 to list pods in namespace n');
    expect(sentence).toContain('(fetch failed: ECONNREFUSED)');
  });

  it('stays one line of bounded length, whatever the server answers', () => {
    const error = Object.assign(new Error(`a\nb ${'x'.repeat(10_000)}`), { code: 503 });
    expect(explainApiError(error, asked).length).toBeLessThan(600);
    expect(explainApiError(error, asked)).not.toContain('\n');
    expect(explainApiError('text', asked)).toContain('"text"');
  });
});
