const SPANS = JSON.stringify({
  resourceSpans: [
    {
      scopeSpans: [
        {
          spans: [
            {
              startTimeUnixNano: '1759813207000000000',
              endTimeUnixNano: '1759813208000000000',
              attributes: [
                { key: 'gen_ai.usage.input_tokens', value: { intValue: '12' } },
                { key: 'gen_ai.usage.output_tokens', value: { intValue: 7 } },
                { key: 'gen_ai.request.model', value: { stringValue: 'é' } },
              ],
              status: {},
            },
          ],
        },
      ],
    },
  ],
});

const STORED = JSON.stringify({
  data: [0, 1, 2].map((at) => ({
    traceID: `t${at}`,
    spans: [
      {
        traceID: `t${at}`,
        spanID: 's',
        operationName: 'chat',
        references: [],
        startTime: 1_759_813_207_000_000 + at,
        duration: 900_000,
        tags: [
          { key: 'gen_ai.usage.input_tokens', type: 'int64', value: 12 },
          { key: 'gen_ai.usage.output_tokens', type: 'int64', value: 7 },
        ],
        processID: 'p1',
      },
    ],
    processes: { p1: { serviceName: 'client', tags: [] } },
  })),
});

const CHATS = [0, 1, 2]
  .map((chat) =>
    JSON.stringify({
      chat_id: chat,
      parent_chat_id: chat - 1,
      timestamp: chat / 2,
      input_length: 20,
      output_length: 3,
      type: 'text',
      turn: 1,
      hash_ids: [1, 2],
    }),
  )
  .join('\n');

const AGENTS = [1, 2, 3]
  .map((session) =>
    JSON.stringify({
      session_id: `s${session}`,
      turns: [1, 2].map((turn) => ({
        llm_calls: [1, 2].map((each) => ({
          timestamp: `2026-06-0${session}T00:0${turn}:0${each}.5Z`,
          duration_ms: 400.5,
          model: 'Model A',
          result: 'Success',
          tokens: { prompt: 300 * turn, completion: 5, cached: 128 },
        })),
      })),
    }),
  )
  .join('\n');

const ENDED = [0, 1, 2]
  .map((at) =>
    JSON.stringify({
      schema: 'dynamo.request.trace.v1',
      event_type: 'request_end',
      event_time_unix_ms: 1_760_000_000_900 + at,
      agent_context: { session_id: 's' },
      request: {
        request_id: `r${at}`,
        model: 'm',
        request_received_ms: 1_760_000_000_000 + at,
        output_tokens: 7,
        ttft_ms: 40.5,
        total_time_ms: 900,
        replay: {
          trace_block_size: 16,
          input_length: 40,
          input_sequence_hashes: [11, 22, 33 + at],
        },
      },
    }),
  )
  .join('\n');

const CALLS = [0, 1.5, 3]
  .map((at) =>
    JSON.stringify({
      call_type: 'acompletion',
      status: 'success',
      prompt_tokens: 10,
      completion_tokens: 20,
      startTime: 1_716_000_000.25 + at,
      endTime: 1_716_000_002 + at,
      completionStartTime: 1_716_000_000.5 + at,
      model: 'm',
      session_id: 's',
    }),
  )
  .join('\n');

const LISTS = {
  input_lens: [50, 60, 70],
  output_lens: [10, 20, 0],
  ttfts: [0.125, 0.25, 0],
  itls: [[0.5, 0.25], [], []],
  errors: ['', '', 'Service Unavailable'],
};
const VLLM_RUN = JSON.stringify({
  model_id: 'm',
  num_prompts: 3,
  ...LISTS,
  start_times: [1000.5, 1000, 1001.75],
});
const SGLANG_RUN = JSON.stringify({ backend: 'sglang', request_rate: 4, ...LISTS });

const REPORT = JSON.stringify({
  metadata: { version: 1, guidellm_version: '0.6.0' },
  benchmarks: [
    {
      requests: {
        successful: [0, 2.5].map((at) => ({
          request_id: `r${at}`,
          request_start_time: 1_760_000_000 + at,
          request_latency: 0.9,
          time_to_first_token_ms: 80.5,
          prompt_tokens: 256,
          output_tokens: 128,
        })),
        errored: [],
      },
    },
  ],
});

const TURNS = [0, 1, 2]
  .map((at) =>
    JSON.stringify({
      timestamp: 1000 * at,
      requests: [
        { prompt: 'Why?', prompt_length: 100, output_length: 30, session_id: 0 },
        { prompt: 'Who?', prompt_length: 50, output_length: null },
      ],
    }),
  )
  .join('\n');

const CSV_TIMES = ['0,374,44', '4.25,396,109', '4.5,20,1'].join('\n');

/** A small file in each format that is only read, by the name of the format. */
export const READ_ONLY_SAMPLES: ReadonlyMap<string, string> = new Map([
  ['otel', `${SPANS}\n${SPANS}\n`],
  ['jaeger', STORED],
  ['bailian', CHATS],
  ['copilot', AGENTS],
  ['aibrix', TURNS],
  ['dynamo', ENDED],
  ['splitwise', `arrival_timestamp,prompt_size,token_size\n${CSV_TIMES}\n`],
  ['vidur', `arrived_at,num_prefill_tokens,num_decode_tokens\n${CSV_TIMES}\n`],
  [
    'multi-round-qa',
    'prompt_tokens,generation_tokens,ttft,user_id,launch_time\n374,44,0.2,1,1760000004.5\n20,1,0.1,2,1760000000.25\n',
  ],
  ['litellm', CALLS],
  ['vllm-bench', `${VLLM_RUN}\n${VLLM_RUN}\n`],
  ['sglang-bench', `${SGLANG_RUN}\n${SGLANG_RUN}\n`],
  ['guidellm', REPORT],
]);
