import { describe, expect, it } from 'vitest';
import { decodeBody, prefillBody } from './kv-transfer.ts';

describe('the two requests of a disaggregated one', () => {
  it('prefill: one token, in one piece, kept for another', () => {
    const body = {
      model: 'm',
      prompt: 'p',
      stream: true,
      stream_options: { include_usage: true },
      max_completion_tokens: 400,
      min_tokens: 9,
    };
    expect(prefillBody(body)).toEqual({
      model: 'm',
      prompt: 'p',
      stream: false,
      max_tokens: 1,
      max_completion_tokens: 1,
      min_tokens: 1,
      kv_transfer_params: {
        do_remote_decode: true,
        do_remote_prefill: false,
        remote_engine_id: null,
        remote_block_ids: null,
        remote_host: null,
        remote_port: null,
      },
    });
  });

  it('decode: the client’s own, and what the other has answered', () => {
    const body = { model: 'm', prompt: 'p', stream: true };
    const answer = { id: 'x', kv_transfer_params: { remote_port: 5600 } };
    expect(decodeBody(body, answer)).toEqual({
      ...body,
      kv_transfer_params: { remote_port: 5600 },
    });
  });
});
