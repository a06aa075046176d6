import { WireReader } from './wire-reader.ts';

/** Flags of a request in `ResponseFlags` that say: its server, or the connection to it, ended it. */
const SERVER_ENDED: ReadonlySet<number> = new Set([
  5, // upstream_remote_reset
  7, // upstream_connection_termination
  24, // upstream_protocol_error
]);
/** Its client ended it: what became of the connection to the server then says nothing. */
const CLIENT_ENDED: ReadonlySet<number> = new Set([
  15, // downstream_connection_termination
  19, // downstream_protocol_error
  28, // downstream_remote_reset
]);

/** What reads a field, by its number. */
type Fields = Readonly<Record<number, (() => void) | undefined>>;

/**
 * The `x-request-id` of each request in a StreamAccessLogsMessage of envoy.service.accesslog.v3
 * that its server broke off. Throws RangeError for malformed bytes.
 */
export function cutAnswersIn(message: Buffer): readonly string[] {
  const reader = new WireReader(message);
  const cut: string[] = [];
  const entry = (): void => {
    const requestId = cutRequestIn(reader);
    if (requestId !== '') cut.push(requestId);
  };
  // `http_logs`, and each `log_entry` of it.
  readFields(reader, { 2: () => readNested(reader, { 1: entry }) });
  return cut;
}

/** Reads an HTTPAccessLogEntry. Empty where the server did not break it off, or it has no id. */
function cutRequestIn(reader: WireReader): string {
  let requestId = '';
  let isCut = false;
  const common = { 16: () => void (isCut = serverEnded(reader)) };
  const request = { 9: () => void (requestId = reader.text()) };
  readNested(reader, {
    1: () => readNested(reader, common),
    3: () => readNested(reader, request),
  });
  return isCut ? requestId : '';
}

/** Reads the ResponseFlags ahead. */
function serverEnded(reader: WireReader): boolean {
  let byServer = false;
  let byClient = false;
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (SERVER_ENDED.has(field)) byServer = reader.bool() || byServer;
    else if (CLIENT_ENDED.has(field)) byClient = reader.bool() || byClient;
    else reader.skip();
  }
  reader.leave(outer);
  return byServer && !byClient;
}

function readNested(reader: WireReader, fields: Fields): void {
  const outer = reader.enter();
  readFields(reader, fields);
  reader.leave(outer);
}

function readFields(reader: WireReader, fields: Fields): void {
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    const read = fields[field];
    if (read === undefined) reader.skip();
    else read();
  }
}
