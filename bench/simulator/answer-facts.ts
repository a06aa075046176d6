/** An answer of a server as it came. */
export interface Answer {
  readonly status: number;
  /** Names and values in turn, as `rawHeaders` of Node. */
  readonly headers: readonly string[];
  readonly body: string;
}

/** Members whose value is part of the dialect; of all others only the type is compared. */
const LITERALS: ReadonlySet<string> = new Set(
  [
    'object type role code status owned_by parent root model param index finish_reason',
    'stop_reason max_model_len completion_tokens output_tokens do_remote_decode',
    'do_remote_prefill is_sleeping',
  ].flatMap((names) => names.split(' ')),
);
/** They say nothing of the dialect: the time, the connection, and which server it is. */
const UNNAMED_HEADERS: ReadonlySet<string> = new Set(
  'date connection keep-alive content-length transfer-encoding x-inference-port'.split(' '),
);
const TEXT_LENGTH_MAX = 200;

/**
 * What an answer says to a client that does not look at texts, ids, times and counts: one line for
 * each fact. Two servers speak one dialect where the lines are the same.
 */
export function factsOf({ status, headers, body }: Answer): ReadonlySet<string> {
  const facts = new Set([`status ${status}`]);
  const named = headersOf(headers);
  for (const [name, value] of named) {
    if (UNNAMED_HEADERS.has(name)) continue;
    facts.add(name === 'x-request-id' ? `header ${name}` : `header ${name}: ${value}`);
  }
  const type = named.get('content-type') ?? '';
  if (type.startsWith('text/event-stream')) addEvents(facts, body);
  else if (body.startsWith('# HELP')) addMetrics(facts, body);
  else addBody(facts, body);
  return facts;
}

function headersOf(raw: readonly string[]): ReadonlyMap<string, string> {
  const named = new Map<string, string>();
  for (let at = 0; at + 1 < raw.length; at += 2) {
    named.set((raw[at] ?? '').toLowerCase(), raw[at + 1] ?? '');
  }
  return named;
}

function addBody(facts: Set<string>, body: string): void {
  const parsed = parseJson(body);
  if (parsed === undefined) facts.add(`text ${JSON.stringify(body.slice(0, TEXT_LENGTH_MAX))}`);
  else addJson(facts, 'body', '', parsed);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function addJson(facts: Set<string>, path: string, name: string, value: unknown): void {
  if (Array.isArray(value)) {
    if (value.length === 0) facts.add(`${path}: []`);
    for (const each of value) addJson(facts, `${path}[]`, '', each);
    return;
  }
  if (typeof value !== 'object' || value === null) {
    const shown = value === null || LITERALS.has(name) ? JSON.stringify(value) : typeof value;
    facts.add(`${path}: ${shown}`);
    return;
  }
  const members = Object.entries(value);
  if (members.length === 0) facts.add(`${path}: {}`);
  // Its members are tokens.
  const areTokens = path.endsWith('logprobs.top_logprobs[]') && !('token' in value);
  for (const [member, each] of members) {
    addJson(facts, `${path}.${areTokens ? '*' : member}`, member, each);
  }
}

/** The facts of all events, and in which order they come; equal ones one after another are one. */
function addEvents(facts: Set<string>, body: string): void {
  const events = body.split('\n\n');
  const rest = events.pop() ?? '';
  if (rest !== '') facts.add(`text behind the last event ${JSON.stringify(rest)}`);
  const kinds = events.map((event) => addEvent(facts, event));
  const order = kinds.filter((kind, at) => kind !== kinds[at - 1]);
  facts.add(`order ${order.join(', ')}`);
}

/** Adds the facts of one event, and returns its kind: its name, else what its data has. */
function addEvent(facts: Set<string>, event: string): string {
  const lines = event.split('\n');
  const name = lines.find((line) => line.startsWith('event: '))?.slice('event: '.length);
  const data = lines.find((line) => line.startsWith('data: '))?.slice('data: '.length);
  for (const line of lines) {
    if (!/^(?:event|data): /.test(line)) facts.add(`line ${JSON.stringify(line)}`);
  }
  const parsed = data === undefined ? undefined : parseJson(data);
  if (parsed === undefined) return JSON.stringify(data ?? event);
  addJson(facts, `event ${name ?? ''}`.trim(), '', parsed);
  return name ?? kindOf(parsed);
}

/** A chunk of a chat or completion, by what is in it. */
function kindOf(data: unknown): string {
  const { choices, usage } = data as {
    readonly choices?: readonly Record<string, unknown>[];
    readonly usage?: unknown;
  };
  const choice = choices?.[0];
  if (choice === undefined) return usage === undefined ? 'data' : 'usage';
  const delta = (choice['delta'] ?? choice) as Readonly<Record<string, unknown>>;
  const has = (fields: Readonly<Record<string, unknown>>, name: string): boolean =>
    fields[name] !== undefined && fields[name] !== null;
  const parts = ['role', 'content', 'text', 'tool_calls'].filter((part) => has(delta, part));
  if (has(choice, 'finish_reason')) parts.push('finish_reason');
  return parts.join('+') || 'nothing';
}

/** Names, types and labels of the series, without their values. */
function addMetrics(facts: Set<string>, page: string): void {
  for (const line of page.split('\n')) {
    const [, name, type] = /^# TYPE (\S+) (\S+)/.exec(line) ?? [];
    if (name !== undefined) facts.add(`metric ${name} is a ${type}`);
    const [, series, labels] = /^([a-z][\w:]*)(?:\{(.*)\})? /.exec(line) ?? [];
    if (series === undefined) continue;
    const names = [...(labels ?? '').matchAll(/(\w+)="/g)].map(([, label = '']) => label);
    facts.add(`series ${series}{${names.toSorted((a, b) => (a < b ? -1 : 1)).join(',')}}`);
  }
}
