/** What an error of the request is called, by type or code. As a number it is one of 4xx. */
const OF_REQUEST =
  /invalid|bad.?request|not.?found|authentication|permission|too.?(?:large|long)|context.?length|rate.?limit|content.?filter|unprocessable/i;
const STATUS = /^[1-5]\d\d$/;
const CLIENT_ERROR = 400;
const SERVER_ERROR = 500;
/** Where errors of engines and of the APIs say what they are, the most exact first. */
const KINDS = ['code', 'status_code', 'status', 'type'];
const DATA = 'data:';
const KEY = '"error"';
/** The name of an event of a stream. */
const ERROR_EVENT = /^event: ?error\r?$/;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Whether an answer that began with 200 says that the server has failed: one of its events does, or
 * the whole of it, as engines say what happened after their headers. An error that says that the
 * request is to blame does not count. `text`: the end of the answer.
 */
export function saysServerFailed(text: string, of: 'events' | 'json'): boolean {
  if (of === 'json') return isOfServer(objectIn(text));
  return text.split('\n').some((line, at, lines) => {
    // Dynamo's data is a text there, or missing.
    if (ERROR_EVENT.test(line)) return isOfServer(objectIn(dataOf(lines[at + 1])) ?? {}, true);
    return line.includes(KEY) && isOfServer(objectIn(dataOf(line)));
  });
}

/** An empty text where the line is no data. */
function dataOf(line = ''): string {
  return line.startsWith(DATA) ? line.slice(DATA.length) : '';
}

function isOfServer(answer: Fields | undefined, isError = false): boolean {
  const error = answer && (errorIn(answer) ?? (isError ? answer : undefined));
  if (error === undefined) return false;
  const kinds = KINDS.map((name) => error[name] ?? answer?.[name])
    .filter(isKind)
    .map(String);
  const status = kinds.find((kind) => STATUS.test(kind));
  if (status === undefined) return !kinds.some((kind) => OF_REQUEST.test(kind));
  return Number(status) < CLIENT_ERROR || Number(status) >= SERVER_ERROR;
}

function isKind(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

/** A text where Triton says so; the object itself where Anthropic and earlier vLLM say so. */
function errorIn(answer: Fields): Fields | undefined {
  const response = answer['response'];
  const error = answer['error'] ?? (isFields(response) ? response['error'] : undefined);
  if (isFields(error)) return error;
  if (typeof error === 'string' && error !== '') return {};
  return answer['object'] === 'error' || answer['type'] === 'error' ? answer : undefined;
}

function objectIn(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    // Its beginning is no longer kept, or it is no JSON.
    return undefined;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
