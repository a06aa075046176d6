import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import {
  bodyOf,
  exchange,
  requestHeaders,
  responseBody,
  responseEnd,
  responseHeaders,
  responsePart,
} from '../support/grpc/ext-proc-client.ts';
import {
  completion,
  DESTINATION,
  MODEL,
  page,
  picked,
  poolOf,
  refused,
  request,
  setOnRequest,
  stopPools,
} from '../support/hermetic-bed.ts';

/**
 * The cases of the reference picker's hermetic tests, run against our process: model servers with
 * metrics, and ext_proc over gRPC in full duplex. docs/conformance.md lists them, and the answers
 * that differ on purpose.
 */

afterEach(stopPools);

describe('the reference’s hermetic cases', () => {
  it('1: selects the lower queue and KV use, and counts the request with its objective’s priority', async () => {
    const pool = await poolOf({ queue: 3, kv: 0.2 }, { queue: 0, kv: 0.1 }, { queue: 10, kv: 0.2 });
    const body = completion(MODEL);
    const headers = { 'x-llm-d-inference-objective': 'urgent' };
    expect(await picked(pool, request([body], { headers }), body)).toBe(1);
    const metrics = await page(pool.serving);
    expect(metrics).toMatch(/llm_d_epp_request_total\{[^}]*priority="2"[^}]*\} 1/);
    expect(metrics).toMatch(/llm_d_epp_ready_endpoints\{name="test"\} 3/);
  });

  it('2: selects the server that has the adapter loaded, with a short queue', async () => {
    const pool = await poolOf(
      { queue: 0, kv: 0.2, adapters: ['foo', 'bar'] },
      { queue: 0, kv: 0.1, adapters: ['foo', MODEL] },
      { queue: 10, kv: 0.2, adapters: ['foo', 'bar'] },
    );
    const body = completion(MODEL);
    expect(await picked(pool, request([body]), body)).toBe(1);
  });

  it('3: refuses a request without a body where there is no server', async () => {
    const pool = await poolOf();
    const get = [
      requestHeaders({ ':method': 'GET', ':path': '/v1/models' }, { endOfStream: true }),
    ];
    expect(await refused(pool, get)).toMatchObject({
      code: 503,
      reason: 'rejected-no-endpoints',
    });
  });

  it('4: refuses a body without a model', async () => {
    const pool = await poolOf({ queue: 0, kv: 0 });
    const answer = await refused(pool, request(['{"prompt":"test1"}']));
    expect(answer.code).toBe(400);
    expect(answer.message).toContain('model');
  });

  it('5: gives the adapter priority over KV use', async () => {
    const pool = await poolOf(
      { queue: 10, kv: 0.2, adapters: ['foo', 'bar', 'baz', 'qux'] },
      { queue: 10, kv: 0.4, adapters: ['foo', MODEL] },
      { queue: 10, kv: 0.3, adapters: ['foo', 'bar', 'baz', 'qux'] },
    );
    const body = completion(MODEL);
    expect(await picked(pool, request([body]), body)).toBe(1);
  });

  it('6: routes bytes that it cannot read by queue and KV, with priority and without a model', async () => {
    const pool = await poolOf({ queue: 6, kv: 0.2 }, { queue: 0, kv: 0.1 }, { queue: 10, kv: 0.2 });
    const headers = { ':path': '/v1/raw', 'x-llm-d-inference-objective': 'urgent' };
    const body = 'passthrough, and no JSON';
    expect(await picked(pool, request([body], { headers }), body)).toBe(1);
    expect(await page(pool.serving)).toMatch(
      /llm_d_epp_request_total\{[^}]*model_name="",[^}]*priority="2"[^}]*\} 1/,
    );
  });

  it('7: does not shed requests if every server is saturated', async () => {
    const pool = await poolOf(
      { queue: 6, kv: 0.9 },
      { queue: 0, kv: 0.85 },
      { queue: 10, kv: 0.9 },
    );
    const body = completion('no-objective');
    expect(await picked(pool, request([body]), body)).toBe(1);
  });

  it('8: refuses a body that is not JSON', async () => {
    const pool = await poolOf({ queue: 0, kv: 0 });
    const answer = await refused(pool, request(['no healthy upstream']));
    expect(answer.code).toBe(400);
  });

  it('[D450] 9: reads a body that arrives in pieces, of a request without a path', async () => {
    const pool = await poolOf(
      { queue: 4, kv: 0.2 },
      { queue: 4, kv: 0.85 },
      { queue: 10, kv: 0.9 },
    );
    const body = completion(MODEL);
    const pieces = [body.slice(0, 20), body.slice(20, 21), body.slice(21)];
    expect(await picked(pool, request(pieces), body)).toBe(0);
  });

  it.each([
    ['10: selects the best of a subset', [1, 2], 1],
    ['11: keeps to a subset of one, whatever its load', [2], 2],
  ] as const)('%s', async (_what, allowed, wanted) => {
    const pool = await poolOf({ queue: 0, kv: 0.1 }, { queue: 2, kv: 0.2 }, { queue: 10, kv: 0.9 });
    // One of its addresses is not in the pool.
    const subset = [...allowed.map((index) => pool.addresses[index] ?? ''), '10.9.9.9:8000'];
    const body = completion(MODEL);
    expect(await picked(pool, request([body], { subset }), body)).toBe(wanted);
  });

  it('12: answers 503 if a subset names no server', async () => {
    const pool = await poolOf({ queue: 0, kv: 0.1 });
    const messages = request([completion(MODEL)], { subset: ['10.9.9.9:8000'] });
    expect(await refused(pool, messages)).toMatchObject({
      code: 503,
      reason: 'rejected-no-endpoints',
    });
  });

  it('13: accepts a model that no objective names', async () => {
    const pool = await poolOf({ queue: 0, kv: 0.2 }, { queue: 3, kv: 0.1 });
    const body = completion('direct-model');
    const headers = { 'x-llm-d-inference-objective': 'unknown' };
    expect(await picked(pool, request([body], { headers }), body)).toBe(0);
    expect(await page(pool.serving)).toMatch(/llm_d_epp_request_total\{[^}]*priority="0"[^}]*\} 1/);
  });

  it('14: replaces the model that a rule rewrites', async () => {
    const pool = await poolOf({ queue: 0, kv: 0.2 });
    expect(await picked(pool, request([completion('old')]), completion('new'))).toBe(0);
    expect(await page(pool.serving)).toMatch(
      /llm_d_epp_model_rewrite_decisions_total\{[^}]*model_name="old"[^}]*target_model="new"[^}]*\} 1/,
    );
  });

  it('15: routes a GET at its headers', async () => {
    const pool = await poolOf({ queue: 0, kv: 0 });
    const get = requestHeaders({ ':method': 'GET', ':path': '/v1/models' }, { endOfStream: true });
    const answers = await exchange(pool.serving.extProcPort, [get]);
    expect(answers.map(({ response }) => response)).toEqual(['request_headers']);
    expect(setOnRequest(answers).get(DESTINATION)).toBe(pool.addresses[0]);
  });

  const JSON_ANSWER =
    '{"max_tokens":100,"model":"sql-lora-sheddable","prompt":"test6","temperature":0}';
  it.each([
    ['16: JSON in pieces', [JSON_ANSWER.slice(0, 30), JSON_ANSWER.slice(30)], 'application/json'],
    ['17: what should be JSON and is not', ['no healthy ', 'upstream'], 'application/json'],
    ['18: an empty last piece', [JSON_ANSWER, ''], 'application/json'],
  ])(
    '%s comes back byte for byte, even if the picker has not seen the request',
    async (_what, pieces, type) => {
      const pool = await poolOf({ queue: 4, kv: 0.2 });
      const answers = await exchange(pool.serving.extProcPort, [
        responseHeaders({ ':status': '200', 'content-type': type }),
        ...pieces.map((piece, index) => responseBody(piece, index === pieces.length - 1)),
      ]);
      expect(answers[0]?.response).toBe('response_headers');
      expect(bodyOf(answers, 'response_body')).toEqual({ text: pieces.join(''), ends: true });
    },
  );

  it('19: counts the tokens of an event stream whose usage and end arrive in one piece', async () => {
    const pool = await poolOf({ queue: 4, kv: 0.2 });
    const body = JSON.stringify({ ...JSON.parse(completion(MODEL)), stream: true });
    const usage = { prompt_tokens: 7, total_tokens: 17, completion_tokens: 10 };
    const pieces = [
      `data: {"choices":[{"text":"a"}],"usage":null}\n\n`,
      `data: {"choices":[],"usage":${JSON.stringify(usage)}}\n\ndata: [DONE]\n\n`,
    ];
    const answers = await exchange(pool.serving.extProcPort, [
      ...request([body]),
      responseHeaders({ ':status': '200', 'content-type': 'text/event-stream' }),
      ...pieces.map((piece) => responsePart(piece)),
      responseEnd(''),
    ]);
    expect(bodyOf(answers, 'response_body')).toEqual({ text: pieces.join(''), ends: true });
    // I/O workers report what has ended a little later.
    const ended = /llm_d_epp_request_input_tokens_sum\{[^}]*\} 7\b/;
    const metrics = await eventually(
      () => page(pool.serving),
      (text) => ended.test(text),
    );
    expect(metrics).toMatch(/llm_d_epp_request_output_tokens_sum\{[^}]*\} 10\b/);
  });

  it('[D451] counts an answer that streams as a stream, though its request does not ask for one or is not read', async () => {
    const pool = await poolOf({ queue: 4, kv: 0.2 });
    const events = ['data: {"usage":{"prompt_tokens":7,"completion_tokens":10}}\n\n', ''];
    const answer = [
      responseHeaders({ ':status': '200', 'content-type': 'text/event-stream; charset=utf-8' }),
      ...events.map((event) => responsePart(event)),
      responseEnd('data: [DONE]\n\n'),
    ];
    const unread = request(['no JSON'], { headers: { ':path': '/v1/raw' } });
    for (const sent of [request([completion(MODEL)]), unread]) {
      await exchange(pool.serving.extProcPort, [...sent, ...answer]);
    }
    for (const model of [MODEL, '']) {
      const count = (name: string, label = ''): RegExp =>
        new RegExp(
          `llm_d_epp_request_${name}_count\\{[^}]*model_name="${model}"[^}]*${label}[^}]*\\} 1\\b`,
        );
      const ended = (text: string): boolean => count('duration_seconds').test(text);
      const metrics = await eventually(() => page(pool.serving), ended);
      expect(metrics).toMatch(count('ttft_seconds', 'streaming="true"'));
      expect(metrics).not.toMatch(count('ttft_seconds', 'streaming="false"'));
      expect(metrics).toMatch(count('streaming_tpot_seconds'));
      expect(metrics).toMatch(count('streaming_itl_seconds'));
    }
  });
});
