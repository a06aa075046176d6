import { accessLogFindings } from './check-access-log.ts';
import type { PickedRoute } from './envoy-setup.ts';
import { type Expression, secondsOf } from './envoy-types.ts';
import { type Finding, when } from './finding.ts';

/** Envoy's own default, where the listener has no other value. */
const BUFFER_DEFAULT = 1024 * 1024;
/** A prompt of a million tokens. */
const BUFFERED_BYTES_MIN = 16 * 1024 * 1024;
const DUPLEX = 'FULL_DUPLEX_STREAMED';
const DESTINATION_HEADER = 'x-gateway-destination-endpoint';

/** What is known of the picker behind a filter. */
export interface AskedPicker {
  /** What `serve --early-pick-bytes` is unless given. */
  readonly earlyPickBytes: number;
  /** How long its configuration lets a request wait; undefined where it is not known. */
  readonly longestWaitMs?: number | undefined;
}

/** What is wrong with what an ext_proc filter sends to the picker, and takes from it. */
export function checkFilter(
  picked: PickedRoute,
  { earlyPickBytes, longestWaitMs = 0 }: AskedPicker,
): readonly Finding[] {
  const where = `filter ${picked.filterName}, ${picked.name}`;
  if (picked.filter.observability_mode === true) return [];
  return [
    ...twiceFindings(picked),
    ...requestFindings(picked),
    ...limitFindings(picked, earlyPickBytes),
    ...bufferFilterFindings(picked),
    ...responseFindings(picked),
    ...timeFindings(picked, longestWaitMs / 1000),
    ...failureFindings(picked),
    ...refusalFindings(picked),
    ...accessLogFindings(picked),
  ].map((finding) => ({ where, ...finding }));
}

type Part = Omit<Finding, 'where'>;

function twiceFindings({ sameBefore }: PickedRoute): readonly Part[] {
  return when(sameBefore !== undefined, {
    severity: 'error',
    id: 'picker-asked-twice',
    what: `the filter ${sameBefore} before it asks the same cluster: each request is picked twice, and its load counts on two endpoints.`,
    mend: 'Remove one of the two filters.',
  });
}

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

/** A filter that collects each body before the picker sees it. */
function bufferFilterFindings({ manager }: PickedRoute): readonly Part[] {
  const { name, typed_config: config } =
    (manager.http_filters ?? []).find(
      ({ disabled = false, typed_config: each }) =>
        !disabled && each?.['@type']?.endsWith('buffer.v3.Buffer') === true,
    ) ?? {};
  const limit = config?.max_request_bytes ?? Number.POSITIVE_INFINITY;
  return when(limit < BUFFERED_BYTES_MIN, {
    severity: 'error',
    id: 'buffer-filter-limit',
    what: `the filter ${name} before or behind it takes bodies of up to ${limit.toLocaleString('en')} bytes: Envoy answers larger ones with 413.`,
    lines: [`max_request_bytes: ${2 * BUFFERED_BYTES_MIN}   # of the filter ${name}`],
  });
}

function limitFindings({ filter, listener }: PickedRoute, earlyPickBytes: number): readonly Part[] {
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
  if (body === 'STREAMED' && limit <= earlyPickBytes) {
    return [
      {
        severity: 'error',
        id: 'early-pick-limit',
        what: `request_body_mode is STREAMED, and the listener buffers ${bytes} bytes, no more than --early-pick-bytes (${earlyPickBytes.toLocaleString('en')} unless given): Envoy and picker wait for each other until message_timeout.`,
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

function timeFindings({ filter }: PickedRoute, longestWait: number): readonly Part[] {
  const message = secondsOf(filter.message_timeout, 0.2);
  const stream = secondsOf(filter.grpc_service?.timeout, Number.POSITIVE_INFINITY);
  // In full duplex Envoy waits for a picker without limit, whatever the timeout is.
  const isLimited = filter.processing_mode?.request_body_mode !== DUPLEX;
  const least = Math.max(MESSAGE_SECONDS_MIN, longestWait);
  const byDefault = filter.message_timeout === undefined ? ', Envoy’s default' : '';
  const waits =
    longestWait > MESSAGE_SECONDS_MIN
      ? `, and the configuration lets it wait ${longestWait === Number.POSITIVE_INFINITY ? 'without limit' : `for up to ${longestWait} s`}`
      : '';
  const known = Number.isFinite(least) ? Math.ceil(1.1 * least) : 0;
  return [
    ...when(isLimited && message < least, {
      severity: message < 5 ? 'error' : 'warning',
      id: 'message-timeout',
      what: `message_timeout is ${message} s${byDefault}: ${message === 0 ? 'every request fails' : 'a request that waits longer at the picker fails'}${waits}.`,
      lines: [`message_timeout: ${Math.max(1000, known)}s`],
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

/** Rules by which Envoy does not take the destination from the picker. */
function refusalFindings({ filter: { mutation_rules: rules = {} } }: PickedRoute): readonly Part[] {
  const what = (rule: string): string =>
    `${rule} of mutation_rules makes Envoy ignore the ${DESTINATION_HEADER} that the picker sets: every request fails with 503.`;
  if (takesName(rules.disallow_expression)) {
    const mend = `Correct the expression, so that it does not match ${DESTINATION_HEADER}.`;
    const id = 'destination-refused';
    return [{ severity: 'error', id, what: what('disallow_expression'), mend }];
  }
  return when(rules.disallow_all === true && !takesName(rules.allow_expression), {
    severity: 'error',
    id: 'destination-refused',
    what: what('disallow_all'),
    lines: ['mutation_rules:', '  allow_expression: { regex: "x-gateway-.*" }'],
  });
}

/** Whether the expression matches the header; not where only Envoy can read it. */
function takesName({ regex }: Expression = {}): boolean {
  try {
    return regex !== undefined && new RegExp(`^(?:${regex})$`).test(DESTINATION_HEADER);
  } catch {
    return false;
  }
}
