import type { PickedRoute } from './envoy-setup.ts';
import { secondsOf } from './envoy-types.ts';
import { type Finding, when } from './finding.ts';

/** Envoy's own, where the listener does not say. */
const BUFFER_DEFAULT = 1024 * 1024;
/** What `serve --early-pick-bytes` is unless given. */
const EARLY_PICK_BYTES = 128 * 1024;
/** A prompt of a million tokens. */
const BUFFERED_BYTES_MIN = 16 * 1024 * 1024;
const DUPLEX = 'FULL_DUPLEX_STREAMED';

/** What is wrong with how an ext_proc filter shows requests to the picker. */
export function checkFilter(picked: PickedRoute): readonly Finding[] {
  const where = `filter ${picked.filterName}, ${picked.name}`;
  if (picked.filter.observability_mode === true) return [];
  return [
    ...requestFindings(picked),
    ...bufferFindings(picked),
    ...responseFindings(picked),
    ...timeFindings(picked),
    ...failureFindings(picked),
  ].map((finding) => ({ where, ...finding }));
}

type Part = Omit<Finding, 'where'>;

function requestFindings({ filter }: PickedRoute): readonly Part[] {
  const { processing_mode: mode = {} } = filter;
  const body = mode.request_body_mode ?? 'NONE';
  const lines = [
    'processing_mode:',
    `  request_body_mode: ${DUPLEX}`,
    '  request_trailer_mode: SEND',
  ];
  const streamedLate =
    body === 'STREAMED' && filter.send_body_without_waiting_for_header_response !== true;
  return [
    ...when(mode.request_header_mode === 'SKIP', {
      severity: 'error',
      id: 'request-headers-not-sent',
      what: 'request_header_mode is SKIP: the picker cannot name a destination.',
      lines: ['processing_mode:', '  request_header_mode: SEND'],
    }),
    ...when(body === 'NONE', {
      severity: 'error',
      id: 'request-body-not-sent',
      what: 'request_body_mode is NONE: the picker sees neither model nor prompt, and picks by load alone.',
      lines,
    }),
    ...when(streamedLate, {
      severity: 'error',
      id: 'request-body-too-late',
      what: 'request_body_mode is STREAMED, and Envoy waits for the answer to the headers before it sends the body: the picker must pick without model and prompt.',
      lines: ['send_body_without_waiting_for_header_response: true'],
    }),
    ...when(body === 'BUFFERED_PARTIAL', {
      severity: 'warning',
      id: 'request-body-cut',
      what: 'request_body_mode is BUFFERED_PARTIAL: the picker gets only the beginning of a large body, and picks by that; a model that is named further on is unknown.',
      lines,
    }),
  ];
}

function bufferFindings({ filter, listener }: PickedRoute): readonly Part[] {
  const body = filter.processing_mode?.request_body_mode;
  const limit = listener.per_connection_buffer_limit_bytes ?? BUFFER_DEFAULT;
  const bytes = limit.toLocaleString('en');
  if (body === 'BUFFERED' && limit < BUFFERED_BYTES_MIN) {
    return [
      {
        severity: 'error',
        id: 'buffered-body-limit',
        what: `request_body_mode is BUFFERED, and the listener buffers ${bytes} bytes: Envoy answers larger bodies with 413.`,
        lines: [`per_connection_buffer_limit_bytes: ${2 * BUFFERED_BYTES_MIN}   # of the listener`],
      },
    ];
  }
  if (body === 'STREAMED' && limit <= EARLY_PICK_BYTES) {
    return [
      {
        severity: 'error',
        id: 'early-pick-limit',
        what: `request_body_mode is STREAMED, and the listener buffers ${bytes} bytes, no more than --early-pick-bytes (${EARLY_PICK_BYTES.toLocaleString('en')} unless given): Envoy and picker wait for each other until message_timeout.`,
        lines: [`per_connection_buffer_limit_bytes: ${BUFFER_DEFAULT}   # of the listener`],
      },
    ];
  }
  return [];
}

function responseFindings({ filter }: PickedRoute): readonly Part[] {
  const { processing_mode: mode = {} } = filter;
  const body = mode.response_body_mode ?? 'NONE';
  const trailers = mode.response_trailer_mode === 'SEND';
  if (body === 'BUFFERED' || body === 'BUFFERED_PARTIAL') {
    return [
      {
        severity: 'error',
        id: 'response-buffered',
        what: `response_body_mode is ${body}: streamed answers are held back, and large ones fail.`,
        lines: [
          'processing_mode:',
          `  response_body_mode: ${DUPLEX}`,
          '  response_trailer_mode: SEND',
        ],
      },
    ];
  }
  return [
    ...when(mode.response_header_mode === 'SKIP', {
      severity: 'warning',
      id: 'response-headers-not-sent',
      what: 'response_header_mode is SKIP: the picker does not learn which endpoint served a request, nor that it failed.',
      lines: ['processing_mode:', '  response_header_mode: SEND'],
    }),
    ...when(body === 'NONE' && !trailers, {
      severity: 'warning',
      id: 'end-not-seen',
      what: 'response_body_mode is NONE without trailers: the picker does not see the end of a request, and has to guess when its load is gone.',
      lines: ['processing_mode:', '  response_trailer_mode: SEND'],
    }),
  ];
}

/** A picker may let a request wait: in its queue, or for its endpoint. */
const MESSAGE_SECONDS_MIN = 60;
/** Longer than the longest answer. */
const STREAM_SECONDS_MIN = 3600;

function timeFindings({ filter }: PickedRoute): readonly Part[] {
  const message = secondsOf(filter.message_timeout, 0.2);
  const stream = secondsOf(filter.grpc_service?.timeout, Number.POSITIVE_INFINITY);
  return [
    ...when(message < MESSAGE_SECONDS_MIN, {
      severity: message < 5 ? 'error' : 'warning',
      id: 'message-timeout',
      what: `message_timeout is ${message} s${filter.message_timeout === undefined ? ', Envoy’s default' : ''}: a request that waits longer at the picker fails.`,
      lines: ['message_timeout: 1000s'],
    }),
    ...when(stream > 0 && stream < STREAM_SECONDS_MIN, {
      severity: stream < 600 ? 'error' : 'warning',
      id: 'stream-timeout',
      what: `grpc_service.timeout is ${stream} s: an answer that takes longer is cut.`,
      lines: ['grpc_service:', '  timeout: 86400s'],
    }),
  ];
}

function failureFindings({ filter, manager }: PickedRoute): readonly Part[] {
  if (filter.failure_mode_allow !== true) return [];
  const removes = JSON.stringify(manager.early_header_mutation_extensions ?? []).includes(
    'x-gateway-destination-endpoint',
  );
  return [
    {
      severity: 'warning',
      id: 'failure-mode-allow',
      what: 'failure_mode_allow is true: without a picker a request goes on without a destination, and fails unless another route takes it to known endpoints.',
      lines: ['failure_mode_allow: false'],
    },
    ...when(!removes, {
      severity: 'error',
      id: 'client-names-destination',
      what: 'failure_mode_allow is true, and the destination header of a client is not removed: without a picker, a client can send a request to any address.',
      lines: [
        'early_header_mutation_extensions:   # of the HTTP connection manager',
        '  - name: envoy.http.early_header_mutation.header_mutation',
        '    typed_config:',
        '      "@type": type.googleapis.com/envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation',
        '      mutations: [{ remove: x-gateway-destination-endpoint }]',
      ],
    }),
  ];
}
